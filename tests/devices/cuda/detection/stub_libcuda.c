/* Stands for NVIDIA's driver: what it says comes from the environment, no GPU is behind it.

   STUB_VERSION  what cuDriverGetVersion tells (12080)
   STUB_INIT     what cuInit returns (0)
   STUB_GPUS     a GPU for each entry "capability:name", as "90:H100,37:K80" ("")
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *setting(const char *name, const char *otherwise) {
  const char *text = getenv(name);
  return text ? text : otherwise;
}

static const char *entry(int device) {
  const char *at = setting("STUB_GPUS", "");
  while (device-- > 0 && at) at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
  return at && *at ? at : NULL;
}

int cuInit(unsigned flags) { return flags ? 1 : atoi(setting("STUB_INIT", "0")); }

int cuDriverGetVersion(int *version) {
  *version = atoi(setting("STUB_VERSION", "12080"));
  return 0;
}

int cuDeviceGetCount(int *count) {
  *count = 0;
  while (entry(*count)) ++*count;
  return 0;
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return entry(ordinal) ? 0 : 101;
}

int cuDeviceGetName(char *name, int length, int device) {
  const char *text = strchr(entry(device), ':') + 1;
  snprintf(name, length, "%.*s", (int)strcspn(text, ","), text);
  return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  *bytes = (size_t)(device + 1) << 33;
  return 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device) {
  snprintf(text, length, "0000:%02x:00.0", device + 1);
  return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int capability = atoi(entry(device));
  *value = attribute == 75 ? capability / 10 : capability % 10;
  return attribute == 75 || attribute == 76 ? 0 : 1;
}

int cuGetErrorString(int status, const char **text) {
  static char made[64];
  snprintf(made, sizeof made, "what number %d means", status);
  *text = made;
  return 0;
}
