/* The runtime of native kernels: threads, sequences of kernels, and calls from Python.

   Threads are created when first needed and block all signals. After a job a thread spins for a
   while in case there is another, then it sleeps: waking one takes longer than many a product.
   One job runs at a time; a caller that finds the threads in use does its job alone, and so does a
   thread that is one of several with work of their own. A forked child starts without threads. */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

GG_BRIEF

/* -- threads */

typedef struct {
    gg_part part;
    void *block;
    int64_t parts;
    _Atomic int64_t next;
    int64_t wanted;         /* threads that may still join */
    _Atomic int64_t active; /* threads that work on it */
} gg_job;

#define GG_MOST_THREADS 256

static pthread_mutex_t gg_owner = PTHREAD_MUTEX_INITIALIZER; /* held by the caller whose job runs */
static pthread_mutex_t gg_lock = PTHREAD_MUTEX_INITIALIZER;  /* guards everything below */
static pthread_cond_t gg_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t gg_idle = PTHREAD_COND_INITIALIZER;
static gg_job *gg_current;
static int64_t gg_threads;
static _Atomic int64_t gg_posted; /* jobs so far that others may join */
static int64_t gg_asked_for;      /* threads that may join the last of them */
static int64_t gg_watching;       /* threads that spin for the next one */

#define GG_WATCH_NANOSECONDS 60000
#define GG_SHORTEST_REST 2000000
#define GG_LONGEST_REST 1280000000
#define GG_UNDISTURBED 50000000

static _Thread_local int gg_is_single; /* whether this thread does its jobs alone */

void gg_single_thread(void) { gg_is_single = 1; }

static inline void gg_pause(void) {
#if defined(__x86_64__)
    for (int each = 0; each < 16; each++) __builtin_ia32_pause();
#endif
}

/* Whether a thread spins for jobs before it sleeps. If its core is preempted while it does, others
   need that core: a job would wait for its part. Then it does not spin for a while, which is longer
   each time, and shorter again once it was undisturbed for as long as no busy machine leaves it.
   While it does not spin it is preempted by the very threads that wake it, so those times do not
   count: else it would never spin again. */
typedef struct {
    int64_t preempted, since; /* at the last look; when it began to spin, or 0 while it does not */
    int64_t rest, rests_until;
} gg_watch;

static int gg_may_watch(gg_watch *watch) {
#if defined(__linux__)
    struct rusage usage;
    int64_t now = gg_now();
    if (now < watch->rests_until || getrusage(1, &usage)) return 0; /* RUSAGE_THREAD */
    if (!watch->since) {
        watch->since = now;
    } else if (usage.ru_nivcsw != watch->preempted) {
        int is_rare = now - watch->since > GG_UNDISTURBED;
        watch->rest = is_rare ? watch->rest / 2 : 2 * watch->rest;
        if (watch->rest < GG_SHORTEST_REST) watch->rest = GG_SHORTEST_REST;
        if (watch->rest > GG_LONGEST_REST) watch->rest = GG_LONGEST_REST;
        watch->rests_until = now + watch->rest;
        watch->since = 0;
        return 0;
    }
    watch->preempted = usage.ru_nivcsw;
    return 1;
#else
    (void)watch;
    return 0;
#endif
}

/* Spins until there is another job than the last of those `seen`, or the time is over. */
static void gg_look_for_job(int64_t seen) {
    int64_t ends = gg_now() + GG_WATCH_NANOSECONDS;
    while (atomic_load_explicit(&gg_posted, memory_order_acquire) == seen && gg_now() < ends)
        gg_pause();
}

static void gg_run_parts(gg_job *job) {
    for (;;) {
        int64_t which = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (which >= job->parts) return;
        job->part(job->block, which);
    }
}

static void *gg_serve(void *nothing) {
    (void)nothing;
    gg_watch watch = {.rest = GG_SHORTEST_REST};
    pthread_mutex_lock(&gg_lock);
    for (;;) {
        while (!gg_current || !gg_current->wanted) {
            int64_t seen = gg_posted;
            if (gg_watching < gg_asked_for && gg_may_watch(&watch)) {
                gg_watching++;
                pthread_mutex_unlock(&gg_lock);
                gg_look_for_job(seen);
                pthread_mutex_lock(&gg_lock);
                gg_watching--;
            }
            if (gg_posted == seen) pthread_cond_wait(&gg_work, &gg_lock);
        }
        gg_job *job = gg_current;
        job->wanted--;
        job->active++;
        pthread_mutex_unlock(&gg_lock);
        gg_run_parts(job);
        pthread_mutex_lock(&gg_lock);
        if (atomic_fetch_sub(&job->active, 1) == 1) pthread_cond_signal(&gg_idle);
    }
    return NULL;
}

static void gg_after_fork(void) {
    static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t empty = PTHREAD_COND_INITIALIZER;
    gg_owner = gg_lock = open;
    gg_work = gg_idle = empty;
    gg_current = NULL;
    gg_threads = gg_watching = 0;
}

/* Creates threads up to `wanted`, under the lock; returns their number. */
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
    if (threads <= 1 || gg_is_single || pthread_mutex_trylock(&gg_owner)) {
        for (int64_t which = 0; which < parts; which++) part(block, which);
        return;
    }
    pthread_mutex_lock(&gg_lock);
    int64_t others = gg_have_threads(threads - 1);
    job.wanted = others < threads - 1 ? others : threads - 1;
    gg_current = &job;
    gg_asked_for = job.wanted;
    gg_posted++;
    for (int64_t each = gg_watching; each < job.wanted; each++) pthread_cond_signal(&gg_work);
    pthread_mutex_unlock(&gg_lock);
    gg_run_parts(&job);
    pthread_mutex_lock(&gg_lock);
    gg_current = NULL; /* threads that have not woken by now are not waited for */
    if (job.active) {
        pthread_mutex_unlock(&gg_lock);
        int64_t ends = gg_now() + GG_WATCH_NANOSECONDS;
        while (atomic_load_explicit(&job.active, memory_order_acquire) && gg_now() < ends) gg_pause();
        pthread_mutex_lock(&gg_lock);
    }
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

/* Lanes: calls that run beside each other. Kernels in them use no threads of their own, as the
   lanes own the threads. */

typedef struct {
    gg_entry entry;
    int64_t count, threads;
    int64_t failed; /* the index of the first that failed */
    void **blocks;
    int64_t *statuses;
} gg_lanes;

static void gg_lane(void *at, int64_t which) {
    gg_lanes *all = at;
    void *block = all->blocks[which];
    all->statuses[which] = (*(gg_entry *)block)(block);
}

int gg_beside(void *at) {
    gg_lanes *all = at;
    gg_run_parallel(gg_lane, all, all->count, all->threads);
    for (int64_t each = 0; each < all->count; each++) {
        if (all->statuses[each]) {
            all->failed = each;
            return (int)all->statuses[each];
        }
    }
    return GG_DONE;
}

/* -- matrix products, by a BLAS that was found in this process

   Its threads are not used: it divides work by their number, and on few processors takes longer
   with two than with one up to 30 million multiplications. While products run it has one thread,
   and they are divided into blocks, by their sizes alone, for the threads above. */

typedef struct {
    gg_entry entry;
    void *gemm, *gemv; /* of CBLAS, for the type of the elements */
    int64_t is_wide;   /* whether its integers have 64 bits */
    int64_t item;      /* bytes of an element: 4 or 8 */
    int64_t kind;      /* one of the kinds below */
    int64_t transposes_a, transposes_b;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t count;            /* products */
    int64_t m_each, n_each;   /* rows and columns of a block */
    int64_t m_count, n_count; /* blocks of a product */
    int64_t each;             /* blocks of a part */
    int64_t parts, threads;
    char **a, **b, **c;
    int64_t work; /* of all products, set by the cut (host_cuts.c) */
} gg_products;

enum { GG_MATRICES = 0, GG_COLUMN = 1, GG_ROW = 2 }; /* gemm; gemv for n = 1; gemv for m = 1 */

static struct {
    int (*get)(void);
    void (*set)(int);
    pthread_mutex_t lock;
    int64_t users;
    int before; /* the BLAS's earlier number of threads, to be restored; 0: nothing to restore */
} gg_blas = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Users at the time of a fork are not in the new process; the number to restore is kept. */
static void gg_blas_after_fork(void) {
    static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;
    gg_blas.lock = open;
    gg_blas.users = 0;
}

/* The functions that get and set the number of its threads. */
void gg_blas_threads(void *get, void *set) {
    if (!gg_blas.set) pthread_atfork(NULL, NULL, gg_blas_after_fork);
    gg_blas.get = (int (*)(void))get;
    gg_blas.set = (void (*)(int))set;
}

/* One thread for the BLAS, until the last user is done. */
void gg_blas_enter(void) {
    if (!gg_blas.set) return;
    pthread_mutex_lock(&gg_blas.lock);
    if (!gg_blas.users++) {
        if (!gg_blas.before) gg_blas.before = gg_blas.get();
        if (gg_blas.before != 1) gg_blas.set(1);
    }
    pthread_mutex_unlock(&gg_blas.lock);
}

void gg_blas_leave(void) {
    if (!gg_blas.set) return;
    pthread_mutex_lock(&gg_blas.lock);
    if (gg_blas.users && !--gg_blas.users) { /* a child has no users from before */
        if (gg_blas.before != 1) gg_blas.set(gg_blas.before);
        gg_blas.before = 0;
    }
    pthread_mutex_unlock(&gg_blas.lock);
}

/* The number that the last user restores; 0 without a user. */
int gg_blas_before(void) {
    pthread_mutex_lock(&gg_blas.lock);
    int before = gg_blas.users ? gg_blas.before : 0;
    pthread_mutex_unlock(&gg_blas.lock);
    return before;
}

#define GG_BLAS(real, integer, which)                                                              \
    typedef void (*gg_gemm_##which)(int, int, int, integer, integer, integer, real, const void *,  \
                                    integer, const void *, integer, real, void *, integer);        \
    typedef void (*gg_gemv_##which)(int, int, integer, integer, real, const void *, integer,       \
                                    const void *, integer, real, void *, integer);                 \
    static void gg_block_##which(const gg_products *p, const char *a, const char *b, char *c,      \
                                 int64_t m, int64_t n) {                                           \
        int ta = p->transposes_a ? 112 : 111, tb = p->transposes_b ? 112 : 111;                    \
        integer k = p->k, lda = p->lda, ldb = p->ldb, ldc = p->ldc;                                \
        if (p->kind == GG_MATRICES)                                                                \
            ((gg_gemm_##which)p->gemm)(101, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);        \
        else if (p->kind == GG_COLUMN)                                                             \
            ((gg_gemv_##which)p->gemv)(101, ta, ta == 111 ? m : k, ta == 111 ? k : m, 1, a, lda,   \
                                       b, tb == 111 ? ldb : 1, 0, c, ldc);                         \
        else                                                                                       \
            ((gg_gemv_##which)p->gemv)(101, tb == 111 ? 112 : 111, tb == 111 ? k : n,              \
                                       tb == 111 ? n : k, 1, b, ldb, a, ta == 111 ? 1 : lda, 0, c, \
                                       1);                                                         \
    }

GG_BLAS(float, int, f32)
GG_BLAS(double, int, f64)
GG_BLAS(float, int64_t, wide_f32)
GG_BLAS(double, int64_t, wide_f64)

static void gg_products_part(void *at, int64_t part) {
    const gg_products *p = at;
    int64_t blocks = p->m_count * p->n_count, last = gg_min((part + 1) * p->each, p->count * blocks);
    for (int64_t unit = part * p->each; unit < last; unit++) {
        int64_t which = unit / blocks, block = unit % blocks;
        int64_t i = block / p->n_count * p->m_each, j = block % p->n_count * p->n_each;
        int64_t m = gg_min(p->m_each, p->m - i), n = gg_min(p->n_each, p->n - j);
        const char *a = p->a[which] + i * (p->transposes_a ? 1 : p->lda) * p->item;
        const char *b = p->b[which] + j * (p->transposes_b ? p->ldb : 1) * p->item;
        char *c = p->c[which] + (i * p->ldc + j) * p->item;
        if (p->item == 4)
            (p->is_wide ? gg_block_wide_f32 : gg_block_f32)(p, a, b, c, m, n);
        else
            (p->is_wide ? gg_block_wide_f64 : gg_block_f64)(p, a, b, c, m, n);
    }
}

int gg_multiply(void *at) {
    gg_products *p = at;
    gg_blas_enter();
    gg_run_parallel(gg_products_part, p, p->parts, gg_blas.set ? p->threads : 1);
    gg_blas_leave();
    return GG_DONE;
}

/* -- called from Python, by its stable ABI, whose functions are arguments rather than linked

   A call is a builtin function (PyCFunction_NewEx) without arguments; its `self` is a tuple that
   starts with the block's address and holds all objects that must live. */

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

/* The same with the GIL released. */
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

GG_BRIEF_END
