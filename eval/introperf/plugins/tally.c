/* A Python extension with a pool of threads that have nothing to do, and a slot that a caller waits for. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t slot = PTHREAD_COND_INITIALIZER;
static long sum;

static void *tally_worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&work, &lock);
    return 0;
}

__attribute__((noinline)) void wait_for_slot(void)
{
#ifdef DELAYED
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    while (pthread_cond_timedwait(&slot, &lock, &until) != ETIMEDOUT)
        ;
#else
    pthread_cond_signal(&slot);
#endif
}

__attribute__((noinline)) long tally_add(long value)
{
    pthread_mutex_lock(&lock);
    wait_for_slot();
    sum += value;
    pthread_mutex_unlock(&lock);
    return sum;
}

static PyObject *add(PyObject *self, PyObject *arguments)
{
    long value;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "l", &value))
        return 0;
    return PyLong_FromLong(tally_add(value));
}

static PyMethodDef methods[] = { { "add", add, METH_VARARGS, 0 }, { 0, 0, 0, 0 } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "tally", 0, -1, methods, 0, 0, 0, 0 };

PyMODINIT_FUNC PyInit_tally(void)
{
    for (int number = 0; number < 6; number++) {
        pthread_t thread;
        pthread_create(&thread, 0, tally_worker, 0);
        pthread_detach(thread);
    }
    return PyModule_Create(&module);
}
