// A server with threads that wait for work in many ways. It ends by itself after some seconds.
// cc -O1 -fno-inline -DMODE=ACCEPT|EPOLL|POLL -DCOST=… -DNAP=… -pthread; ./server FILE-FOR-THE-PORT MILLISECONDS
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#define ACCEPT 1
#define EPOLL 2
#define POLL 3

static volatile unsigned sink;

// What requests have always cost.
void parse(void) { for (unsigned i = 0; i < 400000; i++) sink = sink * 1664525u + 1013904223u; }

// What became slower.
void encode(void) { for (unsigned i = 0; i < COST; i++) sink = sink * 22695477u + 1u; }

// Or what waits longer, in the middle of a request.
void settle(void) {
    struct timespec pause = { 0, NAP * 1000000L };
    if (NAP) nanosleep(&pause, 0);
}

int handle(int client) {
    char byte;
    if (read(client, &byte, 1) != 1) return 0;
    parse();
    encode();
    settle();
    return write(client, &byte, 1) == 1;
}

// Threads that have nothing to do with requests.
void *timer(void *unused) {
    struct timespec pause = { 0, 20000000 };
    for (;;) { nanosleep(&pause, 0); sink++; }
}
void *reaper(void *unused) {
    for (;;) { struct timeval pause = { 0, 50000 }; select(0, 0, 0, 0, &pause); sink++; }
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER, filled = PTHREAD_COND_INITIALIZER;
void *replicate(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) pthread_cond_wait(&never, &lock);
}
void *flusher(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&never, &lock, &until);
    }
}

// A pool that waits for a condition, and one that waits for a semaphore.
static int queue[64], head, tail;
static sem_t ready;
void submit(int client) {
    pthread_mutex_lock(&lock);
    queue[tail++ % 64] = client;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    sem_post(&ready);
}
int take_by_condition(void) {
    pthread_mutex_lock(&lock);
    while (head == tail) pthread_cond_wait(&filled, &lock);
    int client = queue[head++ % 64];
    pthread_mutex_unlock(&lock);
    return client;
}
int take_by_semaphore(void) {
    sem_wait(&ready);
    pthread_mutex_lock(&lock);
    int client = queue[head++ % 64];
    pthread_mutex_unlock(&lock);
    return client;
}
static int poller;
void watch(int client) {
    struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = client };
    if (epoll_ctl(poller, EPOLL_CTL_MOD, client, &event)) epoll_ctl(poller, EPOLL_CTL_ADD, client, &event);
}
static int again[2];
void *worker_of_epoll(void *unused) {
    for (;;) {
        int client = take_by_condition();
        if (handle(client)) watch(client);
    }
}
void *worker_of_poll(void *unused) {
    for (;;) {
        int client = take_by_semaphore();
        if (handle(client) && write(again[1], &client, sizeof client) < 0) exit(1);
    }
}
void *connection(void *client) {
    while (handle((int)(long)client)) {}
    return 0;
}

void start(void *(*routine)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, 0, routine, argument);
    pthread_detach(thread);
}
void serve_threads(int listener) {
    for (;;) {
        int client = accept(listener, 0, 0);
        start(connection, (void *)(long)client);
    }
}
void serve_epoll(int listener) {
    poller = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        if (epoll_wait(poller, &event, 1, -1) != 1) continue;
        if (event.data.fd == listener) watch(accept(listener, 0, 0));
        else submit(event.data.fd);
    }
}
void serve_poll(int listener) {
    struct pollfd all[16] = { { listener, POLLIN, 0 }, { again[0], POLLIN, 0 } };
    for (int count = 2;;) {
        poll(all, count, -1);
        if (all[0].revents) { all[count].fd = accept(listener, 0, 0); all[count++].events = POLLIN; }
        if (all[1].revents) {
            int client;
            if (read(again[0], &client, sizeof client) != sizeof client) exit(1);
            for (int i = 2; i < count; i++) if (all[i].fd == ~client) all[i].fd = client;
        }
        for (int i = 2; i < count; i++) if (all[i].fd >= 0 && all[i].revents) { submit(all[i].fd); all[i].fd = ~all[i].fd; }
    }
}

int main(int count, char **words) {
    struct itimerval end = { .it_value = { atoi(words[2]) / 1000, atoi(words[2]) % 1000 * 1000 } };
    setitimer(ITIMER_REAL, &end, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, size) || listen(listener, 16) || pipe(again)) return 1;
    getsockname(listener, (void *)&address, &size);
    sem_init(&ready, 0, 0);
    start(timer, 0);
    start(reaper, 0);
    start(replicate, 0);
    start(flusher, 0);
    if (MODE == EPOLL) for (int i = 0; i < 4; i++) start(worker_of_epoll, 0);
    if (MODE == POLL) for (int i = 0; i < 4; i++) start(worker_of_poll, 0);
    FILE *port = fopen("port.part", "w");
    fprintf(port, "%d", ntohs(address.sin_port));
    fclose(port);
    rename("port.part", words[1]);
    if (MODE == ACCEPT) serve_threads(listener);
    if (MODE == EPOLL) serve_epoll(listener);
    serve_poll(listener);
}
