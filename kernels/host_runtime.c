/* What native kernels share: threads, sequences of kernels, and how Python calls them.

   Threads are made at first need, sleep between jobs and block all signals. One job runs at a time;
   who finds the threads busy does its job alone. A forked process starts without threads. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* -- threads */

typedef struct {
    gg_part part;
    void *block;
    int64_t parts;
    _Atomic int64_t next;
    int64_t wanted; /* threads that may still join */
    int64_t active; /* threads that are at it */
} gg_job;

#define GG_MOST_THREADS 256

static pthread_mutex_t gg_owner = PTHREAD_MUTEX_INITIALIZER; /* held by whose job it is */
static pthread_mutex_t gg_lock = PTHREAD_MUTEX_INITIALIZER;  /* of all that follows */
static pthread_cond_t gg_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t gg_idle = PTHREAD_COND_INITIALIZER;
static gg_job *gg_current;
static int64_t gg_threads;

static void gg_run_parts(gg_job *job) {
    for (;;) {
        int64_t which = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (which >= job->parts) return;
        job->part(job->block, which);
    }
}

static void *gg_serve(void *nothing) {
    (void)nothing;
    pthread_mutex_lock(&gg_lock);
    for (;;) {
        while (!gg_current || !gg_current->wanted) pthread_cond_wait(&gg_work, &gg_lock);
        gg_job *job = gg_current;
        job->wanted--;
        job->active++;
        pthread_mutex_unlock(&gg_lock);
        gg_run_parts(job);
        pthread_mutex_lock(&gg_lock);
        if (!--job->active) pthread_cond_signal(&gg_idle);
    }
    return NULL;
}

static void gg_after_fork(void) {
    static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t empty = PTHREAD_COND_INITIALIZER;
    gg_owner = gg_lock = open;
    gg_work = gg_idle = empty;
    gg_current = NULL;
    gg_threads = 0;
}

/* Makes threads up to `wanted`, under the lock; how many there are then. */
static int64_t gg_have_threads(int64_t wanted) {
    static int asked;
    if (gg_threads >= wanted || wanted > GG_MOST_THREADS) return gg_threads;
    if (!asked) asked = !pthread_atfork(NULL, NULL, gg_after_fork);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (gg_threads < wanted) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, gg_serve, NULL)) break;
        pthread_detach(thread);
        gg_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return gg_threads;
}

void gg_run_parallel(gg_part part, void *block, int64_t parts, int64_t threads) {
    gg_job job = {.part = part, .block = block, .parts = parts};
    if (threads > parts) threads = parts;
    if (threads > GG_MOST_THREADS) threads = GG_MOST_THREADS;
    if (threads <= 1 || pthread_mutex_trylock(&gg_owner)) {
        for (int64_t which = 0; which < parts; which++) part(block, which);
        return;
    }
    pthread_mutex_lock(&gg_lock);
    int64_t others = gg_have_threads(threads - 1);
    job.wanted = others < threads - 1 ? others : threads - 1;
    gg_current = &job;
    for (int64_t each = 0; each < job.wanted; each++) pthread_cond_signal(&gg_work);
    pthread_mutex_unlock(&gg_lock);
    gg_run_parts(&job);
    pthread_mutex_lock(&gg_lock);
    gg_current = NULL; /* who has not woken by now is not waited for */
    while (job.active) pthread_cond_wait(&gg_idle, &gg_lock);
    pthread_mutex_unlock(&gg_lock);
    pthread_mutex_unlock(&gg_owner);
}

int64_t gg_thread_count(void) { return gg_threads; }

/* -- several kernels as one */

typedef struct {
    gg_entry entry;
    int64_t count;
    int64_t failed; /* the index of the one that ended it */
    void **blocks;
} gg_several;

int gg_sequence(void *at) {
    gg_several *all = at;
    for (int64_t each = 0; each < all->count; each++) {
        void *block = all->blocks[each];
        int status = (*(gg_entry *)block)(block);
        if (status) {
            all->failed = each;
            return status;
        }
    }
    return GG_DONE;
}

/* -- matrix products, by a BLAS that was found in this process */

typedef struct {
    gg_entry entry;
    void *function; /* cblas_sgemm or cblas_dgemm */
    int64_t is_wide; /* whether its integers have 64 bits */
    int64_t transposes_a, transposes_b;
    int64_t m, n, k, lda, ldb, ldc;
    void *a, *b, *c;
} gg_product;

#define GG_GEMM(name, real)                                                                        \
    typedef void (*gg_narrow_##name)(int, int, int, int, int, int, real, const real *, int,        \
                                     const real *, int, real, real *, int);                        \
    typedef void (*gg_wide_##name)(int, int, int, int64_t, int64_t, int64_t, real, const real *,   \
                                   int64_t, const real *, int64_t, real, real *, int64_t);         \
    int name(void *at) {                                                                           \
        gg_product *p = at;                                                                        \
        int ta = p->transposes_a ? 112 : 111, tb = p->transposes_b ? 112 : 111;                    \
        if (p->is_wide)                                                                            \
            ((gg_wide_##name)p->function)(101, ta, tb, p->m, p->n, p->k, 1, p->a, p->lda, p->b,    \
                                          p->ldb, 0, p->c, p->ldc);                                \
        else                                                                                       \
            ((gg_narrow_##name)p->function)(101, ta, tb, (int)p->m, (int)p->n, (int)p->k, 1, p->a, \
                                            (int)p->lda, p->b, (int)p->ldb, 0, p->c, (int)p->ldc); \
        return GG_DONE;                                                                            \
    }

GG_GEMM(gg_gemm_f32, float)
GG_GEMM(gg_gemm_f64, double)

/* -- called from Python, by its stable ABI, whose functions are given rather than linked

   A call is a builtin function (PyCFunction_NewEx) without arguments; its `self` is a tuple that
   starts with the block's address and holds all that must live. */

static void *(*gg_item)(void *tuple, ptrdiff_t index);
static void *(*gg_address)(void *number);
static void *(*gg_number)(long value);
static void *(*gg_release)(void);
static void (*gg_acquire)(void *state);

void gg_python(void **functions) {
    gg_item = (void *(*)(void *, ptrdiff_t))functions[0];
    gg_address = (void *(*)(void *))functions[1];
    gg_number = (void *(*)(long))functions[2];
    gg_release = (void *(*)(void))functions[3];
    gg_acquire = (void (*)(void *))functions[4];
}

static void *gg_call(void *self, void *nothing) {
    (void)nothing;
    void *block = gg_address(gg_item(self, 0));
    return gg_number((*(gg_entry *)block)(block));
}

/* The same while other threads run Python. */
static void *gg_call_released(void *self, void *nothing) {
    (void)nothing;
    void *block = gg_address(gg_item(self, 0)), *state = gg_release();
    int status = (*(gg_entry *)block)(block);
    gg_acquire(state);
    return gg_number(status);
}

#define GG_NO_ARGUMENTS 4 /* METH_NOARGS */

struct {
    const char *name;
    void *(*function)(void *, void *);
    int flags;
    const char *doc;
} gg_calls[2] = {
    {"native_kernel", gg_call, GG_NO_ARGUMENTS, "Runs a kernel; 0 when it is done."},
    {"native_kernel", gg_call_released, GG_NO_ARGUMENTS, "Runs a kernel; 0 when it is done."},
};
