/* A fake libcudnn.so.9 that runs on the host. It checks each descriptor by the rules that
   cudnn_graph.h states for its attributes (type, number of elements, whether required) and for its
   finalization, and computes convolutions in double precision. `fake_error` is the first broken
   rule. The numbers come from the header itself (-DREAL_HEADER), or from the package's table. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef REAL_HEADER /* its functions have other types of parameters than those below */
#define cudnnGetVersion declared_cudnnGetVersion
#define cudnnGetCudartVersion declared_cudnnGetCudartVersion
#define cudnnCreate declared_cudnnCreate
#define cudnnDestroy declared_cudnnDestroy
#define cudnnSetStream declared_cudnnSetStream
#define cudnnBackendCreateDescriptor declared_cudnnBackendCreateDescriptor
#define cudnnBackendDestroyDescriptor declared_cudnnBackendDestroyDescriptor
#define cudnnBackendSetAttribute declared_cudnnBackendSetAttribute
#define cudnnBackendGetAttribute declared_cudnnBackendGetAttribute
#define cudnnBackendFinalize declared_cudnnBackendFinalize
#define cudnnBackendExecute declared_cudnnBackendExecute
#include <cudnn_graph.h>
#undef cudnnGetVersion
#undef cudnnGetCudartVersion
#undef cudnnCreate
#undef cudnnDestroy
#undef cudnnSetStream
#undef cudnnBackendCreateDescriptor
#undef cudnnBackendDestroyDescriptor
#undef cudnnBackendSetAttribute
#undef cudnnBackendGetAttribute
#undef cudnnBackendFinalize
#undef cudnnBackendExecute
#else
#include "cudnn_numbers.h"
#endif

#define OK 0
#define NOT_INITIALIZED 1001
#define BAD_PARAM 2000
#define NOT_SUPPORTED 3000
#define MANY 64
#define DIMS 8

typedef struct descriptor descriptor;
typedef struct {
    int name, type, least, most, required, target; /* target: the type of descriptors, or -1 */
} rule;
typedef struct {
    int name, type;
    int64_t count;
    union { int64_t i; double d; void *p; } of[MANY];
} attribute;
struct descriptor {
    int magic, type, finalized, count;
    attribute attributes[16];
};
typedef struct { int magic; void *stream; int has_stream; } handle;

#define MAGIC 0x0d15c0
char fake_error[300];
int fake_descriptors, fake_handles, fake_executions, fake_fails_at_create;
int fake_engines = 3;                          /* that the heuristic proposes */
int fake_notes[8][4] = {{4, -1}, {1, -1}, {-1}}; /* of each engine, ended by -1 */
int64_t fake_workspace[8] = {0, 0, 1024};
int fake_needs_handle = 1;
int fake_unsupported = -1; /* a type of descriptors whose finalization is not supported */

static int fail(int status, const char *text, int number) {
    if (!fake_error[0]) snprintf(fake_error, sizeof fake_error, "%s (%d)", text, number);
    return status;
}

#define D(x) CUDNN_BACKEND_##x##_DESCRIPTOR
#define A(x) CUDNN_ATTR_##x
#define T(x) CUDNN_TYPE_##x
#define OPERATION -2

static const rule *rules_of(int type) {
    static const rule pointwise[] = {
        {A(POINTWISE_MODE), T(POINTWISE_MODE), 1, 1, 1, -1}, {A(POINTWISE_MATH_PREC), T(DATA_TYPE), 1, 1, 1, -1}, {-1}};
    static const rule convolution[] = {
        {A(CONVOLUTION_COMP_TYPE), T(DATA_TYPE), 1, 1, 1, -1}, {A(CONVOLUTION_CONV_MODE), T(CONVOLUTION_MODE), 1, 1, 1, -1},
        {A(CONVOLUTION_SPATIAL_DIMS), T(INT64), 1, 1, 1, -1}, {A(CONVOLUTION_DILATIONS), T(INT64), 1, DIMS, 1, -1},
        {A(CONVOLUTION_FILTER_STRIDES), T(INT64), 1, DIMS, 1, -1}, {A(CONVOLUTION_PRE_PADDINGS), T(INT64), 1, DIMS, 1, -1},
        {A(CONVOLUTION_POST_PADDINGS), T(INT64), 1, DIMS, 1, -1}, {-1}};
    static const rule tensor[] = {
        {A(TENSOR_UNIQUE_ID), T(INT64), 1, 1, 1, -1}, {A(TENSOR_DATA_TYPE), T(DATA_TYPE), 1, 1, 1, -1},
        {A(TENSOR_BYTE_ALIGNMENT), T(INT64), 1, 1, 1, -1}, {A(TENSOR_DIMENSIONS), T(INT64), 1, DIMS, 1, -1},
        {A(TENSOR_STRIDES), T(INT64), 1, DIMS, 1, -1}, {A(TENSOR_IS_VIRTUAL), T(BOOLEAN), 1, 1, 0, -1}, {-1}};
#define SUMS(P, X, W, Y) \
    {{A(OPERATION_CONVOLUTION_##P##_ALPHA), T(FLOAT), 1, 1, 1, -1}, {A(OPERATION_CONVOLUTION_##P##_BETA), T(FLOAT), 1, 1, 1, -1}, \
     {A(OPERATION_CONVOLUTION_##P##_CONV_DESC), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(CONVOLUTION)}, \
     {A(OPERATION_CONVOLUTION_##P##_##X), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(TENSOR)}, \
     {A(OPERATION_CONVOLUTION_##P##_##W), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(TENSOR)}, \
     {A(OPERATION_CONVOLUTION_##P##_##Y), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(TENSOR)}, {-1}}
    static const rule forward[] = SUMS(FORWARD, X, W, Y), data[] = SUMS(BWD_DATA, DX, W, DY), filter[] = SUMS(BWD_FILTER, X, DW, DY);
    static const rule operation[] = {
        {A(OPERATION_POINTWISE_PW_DESCRIPTOR), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(POINTWISE)},
        {A(OPERATION_POINTWISE_XDESC), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(TENSOR)},
        {A(OPERATION_POINTWISE_BDESC), T(BACKEND_DESCRIPTOR), 1, 1, 0, D(TENSOR)},
        {A(OPERATION_POINTWISE_YDESC), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(TENSOR)}, {-1}};
    static const rule graph[] = {
        {A(OPERATIONGRAPH_HANDLE), T(HANDLE), 1, 1, 1, -1}, {A(OPERATIONGRAPH_OPS), T(BACKEND_DESCRIPTOR), 1, MANY, 1, OPERATION}, {-1}};
    static const rule heuristic[] = {
        {A(ENGINEHEUR_OPERATION_GRAPH), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(OPERATIONGRAPH)}, {A(ENGINEHEUR_MODE), T(HEUR_MODE), 1, 1, 1, -1}, {-1}};
    static const rule plan[] = {
        {A(EXECUTION_PLAN_HANDLE), T(HANDLE), 1, 1, 1, -1},
        {A(EXECUTION_PLAN_ENGINE_CONFIG), T(BACKEND_DESCRIPTOR), 1, 1, 1, D(ENGINECFG)}, {-1}};
    static const rule pack[] = {
        {A(VARIANT_PACK_UNIQUE_IDS), T(INT64), 0, MANY, 1, -1}, {A(VARIANT_PACK_DATA_POINTERS), T(VOID_PTR), 0, MANY, 1, -1},
        {A(VARIANT_PACK_WORKSPACE), T(VOID_PTR), 1, 1, 1, -1}, {-1}};
    static const rule none[] = {{-1}};
    switch (type) {
    case D(POINTWISE): return pointwise;
    case D(CONVOLUTION): return convolution;
    case D(TENSOR): return tensor;
    case D(OPERATION_CONVOLUTION_FORWARD): return forward;
    case D(OPERATION_CONVOLUTION_BACKWARD_DATA): return data;
    case D(OPERATION_CONVOLUTION_BACKWARD_FILTER): return filter;
    case D(OPERATION_POINTWISE): return operation;
    case D(OPERATIONGRAPH): return graph;
    case D(ENGINEHEUR): return heuristic;
    case D(EXECUTION_PLAN): return plan;
    case D(VARIANT_PACK): return pack;
    case D(ENGINECFG): case D(ENGINE): return none;
    }
    return NULL;
}

static attribute *find(descriptor *d, int name) {
    for (int i = 0; i < d->count; i++)
        if (d->attributes[i].name == name) return &d->attributes[i];
    return NULL;
}

static int64_t value(descriptor *d, int name, int index) { return find(d, name)->of[index].i; }
static descriptor *part(descriptor *d, int name) { attribute *a = find(d, name); return a ? a->of[0].p : NULL; }

static size_t bytes_of(int type) {
    if (type == T(BOOLEAN)) return 1;
    if (type == T(INT64) || type == T(DOUBLE) || type == T(VOID_PTR) || type == T(HANDLE) || type == T(BACKEND_DESCRIPTOR)) return 8;
    return 4;
}

static int item_bytes(int64_t type) {
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2 : 0;
}

size_t cudnnGetVersion(void) { return 92800; }
size_t cudnnGetCudartVersion(void) { return 12090; }

int cudnnCreate(handle **out) {
    if (fake_fails_at_create) return NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    (*out)->magic = MAGIC, fake_handles++;
    return OK;
}

int cudnnDestroy(handle *h) {
    if (!h || h->magic != MAGIC) return fail(BAD_PARAM, "destroyed no handle", 0);
    h->magic = 0, fake_handles--;
    return OK;
}

int cudnnSetStream(handle *h, void *stream) {
    if (!h || h->magic != MAGIC) return fail(BAD_PARAM, "stream of no handle", 0);
    h->stream = stream, h->has_stream = 1;
    return OK;
}

int cudnnBackendCreateDescriptor(int type, descriptor **out) {
    if (!rules_of(type)) return fail(NOT_SUPPORTED, "unknown type of descriptor", type);
    *out = calloc(1, sizeof **out);
    (*out)->magic = MAGIC, (*out)->type = type, fake_descriptors++;
    return OK;
}

int cudnnBackendDestroyDescriptor(descriptor *d) {
    if (!d || d->magic != MAGIC) return fail(BAD_PARAM, "destroyed no descriptor", 0);
    d->magic = 0, fake_descriptors--; /* not freed, so that later uses are noticed */
    return OK;
}

static int check_target(const rule *r, descriptor *given) {
    if (!given || given->magic != MAGIC) return fail(BAD_PARAM, "attribute is no live descriptor", r->name);
    if (!given->finalized) return fail(BAD_PARAM, "attribute is a descriptor that is not finalized", r->name);
    const int type = given->type;
    const int is_operation = type >= 10 && type <= 14;
    if (r->target == OPERATION ? !is_operation : r->target != type) return fail(BAD_PARAM, "attribute has another type of descriptor", r->name);
    return OK;
}

int cudnnBackendSetAttribute(descriptor *d, int name, int type, int64_t count, const void *values) {
    if (!d || d->magic != MAGIC) return fail(BAD_PARAM, "attribute of no descriptor", name);
    if (d->finalized) return fail(NOT_INITIALIZED, "attribute of a finalized descriptor", name);
    const rule *r = rules_of(d->type);
    while (r->name != -1 && r->name != name) r++;
    if (r->name == -1) return fail(BAD_PARAM, "descriptor without this attribute", name);
    const int is_scalar = r->type == T(FLOAT) && type == T(DOUBLE);
    if (type != r->type && !is_scalar) return fail(BAD_PARAM, "attribute of another type", name);
    if (count < r->least || count > r->most) return fail(BAD_PARAM, "attribute with another number of elements", name);
    attribute *a = find(d, name);
    if (!a) a = &d->attributes[d->count++];
    memset(a, 0, sizeof *a);
    a->name = name, a->type = type, a->count = count;
    for (int64_t i = 0; i < count; i++) {
        const char *from = (const char *)values + i * bytes_of(type);
        if (type == T(FLOAT)) a->of[i].d = *(const float *)from;
        else if (bytes_of(type) == 4) a->of[i].i = *(const int *)from;
        else memcpy(&a->of[i], from, bytes_of(type));
        if (r->target != -1 && check_target(r, a->of[i].p)) return BAD_PARAM;
        if (type == T(HANDLE) && (!a->of[i].p || ((handle *)a->of[i].p)->magic != MAGIC)) return fail(BAD_PARAM, "no handle", name);
    }
    return OK;
}

/* -- finalization */

typedef struct { descriptor *x, *w, *y, *shape; int kind; double alpha, beta; } sums;

static sums sums_of(descriptor *d) {
    const int k = d->type - D(OPERATION_CONVOLUTION_FORWARD); /* 0 forward, 1 filter, 2 data */
    static const int names[3][6] = {
        {A(OPERATION_CONVOLUTION_FORWARD_X), A(OPERATION_CONVOLUTION_FORWARD_W), A(OPERATION_CONVOLUTION_FORWARD_Y), A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC), A(OPERATION_CONVOLUTION_FORWARD_ALPHA), A(OPERATION_CONVOLUTION_FORWARD_BETA)},
        {A(OPERATION_CONVOLUTION_BWD_FILTER_X), A(OPERATION_CONVOLUTION_BWD_FILTER_DW), A(OPERATION_CONVOLUTION_BWD_FILTER_DY), A(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), A(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA), A(OPERATION_CONVOLUTION_BWD_FILTER_BETA)},
        {A(OPERATION_CONVOLUTION_BWD_DATA_DX), A(OPERATION_CONVOLUTION_BWD_DATA_W), A(OPERATION_CONVOLUTION_BWD_DATA_DY), A(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), A(OPERATION_CONVOLUTION_BWD_DATA_ALPHA), A(OPERATION_CONVOLUTION_BWD_DATA_BETA)}};
    const int *n = names[k];
    sums s = {part(d, n[0]), part(d, n[1]), part(d, n[2]), part(d, n[3]), k, find(d, n[4])->of[0].d, find(d, n[5])->of[0].d};
    return s;
}

static int64_t size(descriptor *tensor, int axis) { return value(tensor, A(TENSOR_DIMENSIONS), axis); }

static int finalize_tensor(descriptor *d) {
    attribute *sizes = find(d, A(TENSOR_DIMENSIONS)), *strides = find(d, A(TENSOR_STRIDES));
    const int item = item_bytes(value(d, A(TENSOR_DATA_TYPE), 0));
    const int64_t alignment = value(d, A(TENSOR_BYTE_ALIGNMENT), 0);
    if (sizes->count != strides->count) return fail(BAD_PARAM, "tensor with other strides than sizes", 0);
    for (int i = 0; i < sizes->count; i++)
        if (sizes->of[i].i <= 0 || strides->of[i].i <= 0) return fail(BAD_PARAM, "tensor with a size or stride that is not positive", i);
    if (!item) return fail(NOT_SUPPORTED, "tensor of an unsupported type", 0);
    if (alignment <= 0 || alignment % item) return fail(BAD_PARAM, "alignment is no multiple of the item", (int)alignment);
    return OK;
}

static int finalize_convolution(descriptor *d) {
    static const int names[] = {A(CONVOLUTION_DILATIONS), A(CONVOLUTION_FILTER_STRIDES), A(CONVOLUTION_PRE_PADDINGS), A(CONVOLUTION_POST_PADDINGS)};
    for (int i = 0; i < 4; i++) {
        attribute *a = find(d, names[i]);
        if (a->count != value(d, A(CONVOLUTION_SPATIAL_DIMS), 0)) return fail(BAD_PARAM, "another number of spatial dimensions", names[i]);
        for (int j = 0; j < a->count; j++)
            if (a->of[j].i < (i < 2)) return fail(BAD_PARAM, "a stride, dilation or padding is too small", names[i]);
    }
    return OK;
}

static int finalize_sums(descriptor *d) {
    sums s = sums_of(d);
    const int dims = (int)value(s.shape, A(CONVOLUTION_SPATIAL_DIMS), 0);
    descriptor *tensors[] = {s.x, s.w, s.y};
    for (int i = 0; i < 3; i++)
        if (find(tensors[i], A(TENSOR_DIMENSIONS))->count != dims + 2) return fail(BAD_PARAM, "tensor of another rank", i);
    if (size(s.x, 0) != size(s.y, 0)) return fail(BAD_PARAM, "batches differ", 0);
    if (size(s.x, 1) % size(s.w, 1)) return fail(BAD_PARAM, "channels differ", 0);
    if (size(s.w, 0) != size(s.y, 1)) return fail(BAD_PARAM, "outputs differ", 0);
    for (int i = 0; i < dims; i++) {
        const int64_t window = (size(s.w, i + 2) - 1) * value(s.shape, A(CONVOLUTION_DILATIONS), i) + 1;
        const int64_t wide = size(s.x, i + 2) + value(s.shape, A(CONVOLUTION_PRE_PADDINGS), i) + value(s.shape, A(CONVOLUTION_POST_PADDINGS), i);
        if (size(s.y, i + 2) != 1 + (wide - window) / value(s.shape, A(CONVOLUTION_FILTER_STRIDES), i)) return fail(BAD_PARAM, "result of another size", i);
    }
    return OK;
}

static int finalize_pointwise(descriptor *d) {
    descriptor *mode = part(d, A(OPERATION_POINTWISE_PW_DESCRIPTOR)), *x = part(d, A(OPERATION_POINTWISE_XDESC));
    descriptor *b = part(d, A(OPERATION_POINTWISE_BDESC)), *y = part(d, A(OPERATION_POINTWISE_YDESC));
    const int is_sum = value(mode, A(POINTWISE_MODE), 0) == CUDNN_POINTWISE_ADD;
    if (is_sum != (b != NULL)) return fail(BAD_PARAM, "another number of operands", 0);
    for (int i = 0; i < find(x, A(TENSOR_DIMENSIONS))->count; i++) {
        if (size(x, i) != size(y, i)) return fail(BAD_PARAM, "sizes of a pointwise operation differ", i);
        if (b && size(b, i) != 1 && size(b, i) != size(y, i)) return fail(BAD_PARAM, "operand does not broadcast", i);
    }
    return OK;
}

int cudnnBackendFinalize(descriptor *d) {
    if (!d || d->magic != MAGIC) return fail(BAD_PARAM, "finalized no descriptor", 0);
    if (d->finalized) return fail(BAD_PARAM, "finalized twice", d->type);
    if (d->type == fake_unsupported) return NOT_SUPPORTED;
    for (const rule *r = rules_of(d->type); r->name != -1; r++) {
        const int excused = r->name == A(OPERATIONGRAPH_HANDLE) && !fake_needs_handle;
        if (r->required && !excused && !find(d, r->name)) return fail(BAD_PARAM, "a required attribute is missing", r->name);
    }
    int status = OK;
    if (d->type == D(TENSOR)) status = finalize_tensor(d);
    if (d->type == D(CONVOLUTION)) status = finalize_convolution(d);
    if (d->type >= D(OPERATION_CONVOLUTION_FORWARD) && d->type <= D(OPERATION_CONVOLUTION_BACKWARD_DATA)) status = finalize_sums(d);
    if (d->type == D(OPERATION_POINTWISE)) status = finalize_pointwise(d);
    if (d->type == D(VARIANT_PACK) && find(d, A(VARIANT_PACK_UNIQUE_IDS))->count != find(d, A(VARIANT_PACK_DATA_POINTERS))->count) status = fail(BAD_PARAM, "ids and pointers differ in number", 0);
    if (!status) d->finalized = 1;
    return status;
}

/* Results of the heuristic are kept as hidden attributes: an engine configuration knows its engine
   by number, and the graph. */
static void hide(descriptor *d, int64_t engine, descriptor *graph) {
    d->finalized = 1, d->count = 2;
    d->attributes[0].name = -10, d->attributes[0].of[0].i = engine;
    d->attributes[1].name = -11, d->attributes[1].of[0].p = graph;
}

int cudnnBackendGetAttribute(descriptor *d, int name, int type, int64_t most, int64_t *count, void *values) {
    if (!d || d->magic != MAGIC) return fail(BAD_PARAM, "read from no descriptor", name);
    if (!d->finalized) return fail(NOT_INITIALIZED, "read before finalization", name);
    descriptor **out = values;
    if (name == A(ENGINEHEUR_RESULTS) && d->type == D(ENGINEHEUR)) {
        if (type != T(BACKEND_DESCRIPTOR)) return fail(BAD_PARAM, "results of another type", type);
        *count = fake_engines;
        for (int64_t i = 0; i < most && i < fake_engines; i++) {
            if (out[i]->type != D(ENGINECFG)) return fail(BAD_PARAM, "results are engine configurations", out[i]->type);
            hide(out[i], i, part(d, A(ENGINEHEUR_OPERATION_GRAPH)));
        }
        return OK;
    }
    if (name == A(ENGINECFG_ENGINE) && d->type == D(ENGINECFG)) {
        if (most < 1 || out[0]->type != D(ENGINE)) return fail(BAD_PARAM, "the result is an engine", 0);
        hide(out[0], value(d, -10, 0), part(d, -11));
        *count = 1;
        return OK;
    }
    if (name == A(ENGINE_NUMERICAL_NOTE) && d->type == D(ENGINE)) {
        if (type != T(NUMERICAL_NOTE)) return fail(BAD_PARAM, "notes of another type", type);
        const int *notes = fake_notes[value(d, -10, 0)];
        for (*count = 0; notes[*count] >= 0 && *count < 4; ++*count)
            if (*count < most) ((int *)values)[*count] = notes[*count];
        return OK;
    }
    if (name == A(EXECUTION_PLAN_WORKSPACE_SIZE) && d->type == D(EXECUTION_PLAN)) {
        if (type != T(INT64) || most < 1) return fail(BAD_PARAM, "a workspace's size is one int64", type);
        *(int64_t *)values = fake_workspace[value(part(d, A(EXECUTION_PLAN_ENGINE_CONFIG)), -10, 0)];
        *count = 1;
        return OK;
    }
    return fail(BAD_PARAM, "attribute that can't be read", name);
}

/* -- execution */

static double load(const void *at, int64_t type, int64_t index) {
    if (type == CUDNN_DATA_DOUBLE) return ((const double *)at)[index];
    if (type == CUDNN_DATA_FLOAT) return ((const float *)at)[index];
    if (type == CUDNN_DATA_HALF) return (double)((const _Float16 *)at)[index];
    const uint32_t bits = (uint32_t)((const uint16_t *)at)[index] << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static void store(void *at, int64_t type, int64_t index, double x) {
    if (type == CUDNN_DATA_DOUBLE) ((double *)at)[index] = x;
    else if (type == CUDNN_DATA_FLOAT) ((float *)at)[index] = (float)x;
    else if (type == CUDNN_DATA_HALF) ((_Float16 *)at)[index] = (_Float16)x;
    else {
        uint32_t bits;
        const float y = (float)x;
        memcpy(&bits, &y, 4);
        ((uint16_t *)at)[index] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

typedef struct { int64_t id, type; void *at; descriptor *tensor; } memory;
static memory memories[MANY];
static int num_memories;

static int64_t elements(descriptor *tensor) {
    int64_t count = 1;
    for (int i = 0; i < find(tensor, A(TENSOR_DIMENSIONS))->count; i++) count += (size(tensor, i) - 1) * value(tensor, A(TENSOR_STRIDES), i);
    return count;
}

/* The memory of a tensor: of the pack, or temporary for a virtual one. NULL with a broken rule. */
static memory *memory_of(descriptor *tensor, descriptor *pack) {
    const int64_t id = value(tensor, A(TENSOR_UNIQUE_ID), 0);
    for (int i = 0; i < num_memories; i++)
        if (memories[i].id == id) return &memories[i];
    memory *m = &memories[num_memories++];
    m->id = id, m->tensor = tensor, m->type = value(tensor, A(TENSOR_DATA_TYPE), 0);
    attribute *flag = find(tensor, A(TENSOR_IS_VIRTUAL)), *ids = find(pack, A(VARIANT_PACK_UNIQUE_IDS));
    if (flag && (flag->of[0].i & 1)) {
        m->at = calloc((size_t)elements(tensor), 8);
        return m;
    }
    for (int i = 0; i < ids->count; i++)
        if (ids->of[i].i == id) {
            m->at = find(pack, A(VARIANT_PACK_DATA_POINTERS))->of[i].p;
            if (!m->at || (uintptr_t)m->at % value(tensor, A(TENSOR_BYTE_ALIGNMENT), 0)) return fail(BAD_PARAM, "a pointer is not aligned as its tensor promises", (int)id), NULL;
            return m;
        }
    return fail(BAD_PARAM, "a tensor has no pointer", (int)id), NULL;
}

static int64_t offset(descriptor *tensor, const int64_t *at) {
    int64_t sum = 0;
    for (int i = 0; i < find(tensor, A(TENSOR_DIMENSIONS))->count; i++) sum += at[i] * value(tensor, A(TENSOR_STRIDES), i);
    return sum;
}

static int compute_sums(descriptor *d, descriptor *pack) {
    sums s = sums_of(d);
    memory *x = memory_of(s.x, pack), *w = memory_of(s.w, pack), *y = memory_of(s.y, pack);
    if (!x || !w || !y) return BAD_PARAM;
    if (s.alpha != 1 || s.beta != 0) return fail(NOT_SUPPORTED, "factors", 0);
    const int dims = (int)value(s.shape, A(CONVOLUTION_SPATIAL_DIMS), 0);
    memory *target = s.kind == 0 ? y : s.kind == 1 ? w : x;
    const int64_t count = elements(target->tensor);
    double *sum = calloc((size_t)count, sizeof *sum);
    int64_t sizes[2 * DIMS], at[2 * DIMS] = {0}, rank = 0, total = 1;
    sizes[rank++] = size(s.x, 0), sizes[rank++] = size(s.w, 0), sizes[rank++] = size(s.w, 1);
    for (int i = 0; i < dims; i++) sizes[rank++] = size(s.y, i + 2), sizes[rank++] = size(s.w, i + 2);
    for (int i = 0; i < rank; i++) total *= sizes[i];
    for (int64_t step = 0; step < total; step++) {
        int64_t left = step, px[DIMS], pw[DIMS], py[DIMS];
        for (int i = (int)rank - 1; i >= 0; i--) at[i] = left % sizes[i], left /= sizes[i];
        px[0] = py[0] = at[0], pw[0] = py[1] = at[1], px[1] = pw[1] = at[2];
        int inside = 1;
        for (int i = 0; i < dims; i++) {
            py[i + 2] = at[3 + 2 * i], pw[i + 2] = at[4 + 2 * i];
            px[i + 2] = py[i + 2] * value(s.shape, A(CONVOLUTION_FILTER_STRIDES), i) + pw[i + 2] * value(s.shape, A(CONVOLUTION_DILATIONS), i) - value(s.shape, A(CONVOLUTION_PRE_PADDINGS), i);
            inside &= px[i + 2] >= 0 && px[i + 2] < size(s.x, i + 2);
        }
        if (!inside) continue;
        const int64_t ox = offset(s.x, px), ow = offset(s.w, pw), oy = offset(s.y, py);
        if (s.kind == 0) sum[oy] += load(x->at, x->type, ox) * load(w->at, w->type, ow);
        else if (s.kind == 1) sum[ow] += load(x->at, x->type, ox) * load(y->at, y->type, oy);
        else sum[ox] += load(y->at, y->type, oy) * load(w->at, w->type, ow);
    }
    for (int64_t i = 0; i < count; i++) store(target->at, target->type, i, sum[i]);
    free(sum);
    return OK;
}

static int compute_pointwise(descriptor *d, descriptor *pack) {
    descriptor *dx = part(d, A(OPERATION_POINTWISE_XDESC)), *db = part(d, A(OPERATION_POINTWISE_BDESC)), *dy = part(d, A(OPERATION_POINTWISE_YDESC));
    memory *x = memory_of(dx, pack), *b = db ? memory_of(db, pack) : NULL, *y = memory_of(dy, pack);
    if (!x || !y || (db && !b)) return BAD_PARAM;
    const int rank = (int)find(dy, A(TENSOR_DIMENSIONS))->count;
    int64_t total = 1;
    for (int i = 0; i < rank; i++) total *= size(dy, i);
    for (int64_t step = 0; step < total; step++) {
        int64_t left = step, at[DIMS], own[DIMS];
        for (int i = rank - 1; i >= 0; i--) at[i] = left % size(dy, i), left /= size(dy, i);
        double made = load(x->at, x->type, offset(dx, at));
        for (int i = 0; b && i < rank; i++) own[i] = size(db, i) == 1 ? 0 : at[i];
        if (b) made += load(b->at, b->type, offset(db, own));
        else if (made < 0) made = 0;
        store(y->at, y->type, offset(dy, at), made);
    }
    return OK;
}

int cudnnBackendExecute(handle *h, descriptor *plan, descriptor *pack) {
    if (!h || h->magic != MAGIC || !h->has_stream) return fail(BAD_PARAM, "executed without a handle with a stream", 0);
    if (!plan || plan->magic != MAGIC || plan->type != D(EXECUTION_PLAN) || !plan->finalized) return fail(BAD_PARAM, "executed no plan", 0);
    if (!pack || pack->magic != MAGIC || pack->type != D(VARIANT_PACK) || !pack->finalized) return fail(BAD_PARAM, "executed without a variant pack", 0);
    descriptor *configuration = part(plan, A(EXECUTION_PLAN_ENGINE_CONFIG));
    if (fake_workspace[value(configuration, -10, 0)] && !find(pack, A(VARIANT_PACK_WORKSPACE))->of[0].p) return fail(BAD_PARAM, "no workspace", 0);
    attribute *operations = find(part(configuration, -11), A(OPERATIONGRAPH_OPS));
    num_memories = 0;
    for (int i = 0; i < operations->count; i++) {
        descriptor *d = operations->of[i].p;
        if (d->magic != MAGIC) return fail(BAD_PARAM, "an operation was destroyed", i);
        const int status = d->type == D(OPERATION_POINTWISE) ? compute_pointwise(d, pack) : compute_sums(d, pack);
        if (status) return status;
    }
    fake_executions++;
    return OK;
}
