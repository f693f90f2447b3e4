// The loads: each starts a server, works it for a bounded time, and prints what it has measured.
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// A load under way.
struct load {
    struct server server;
    const struct protocol *protocol;
    int epoll, publisher, *subscribers;
    int count;
    // Bytes of a delivered message, or 0 if they are counted as lines.
    size_t delivery;
    // Publishes, numbered twice round, so that any PIPELINE of them lie together.
    char *requests;
    size_t offsets[2 * PIPELINE + 1];
    uint64_t published, answers, answerBytes;
    uint64_t deliveries, deliveredBytes;
    // What the socket has not taken of what was published.
    const char *rest;
    size_t restCount;
};

static char buffer[1 << 16];

// What a delivery that is counted by its newline has at least, in bytes: a change has 150 to 250.
#define SHORTEST_LINE 150

// Counts newlines; of lines that have at least `shortest` bytes, which need not all be looked at.
static uint64_t newlines(const char *bytes, size_t count, size_t shortest) {
    const char *end = bytes + count;
    uint64_t found = 0;
    while (bytes < end && (bytes = memchr(bytes, '\n', end - bytes))) {
        found++;
        bytes += shortest;
    }
    return found;
}

static uint64_t delivered(const struct load *load) {
    return load->delivery ? load->deliveredBytes / load->delivery : load->deliveries;
}

// The publishes that have been answered.
static uint64_t answered(const struct load *load) {
    if (!load->protocol->answers) return load->count ? delivered(load) / load->count : 0;
    size_t size = load->protocol->answer;
    return (size ? load->answerBytes / size : load->answers) / load->protocol->answers;
}

static void watchFor(struct load *load, int fd, uint32_t events, int operation) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(load->epoll, operation, fd, &event)) fail("epoll_ctl: %m");
}

static void begin(struct load *load, const char *name, int subscribers, int stopped) {
    *load = (struct load){.count = subscribers};
    serverStart(&load->server, name, NULL);
    load->protocol = load->server.protocol;
    load->delivery = load->protocol->delivery;
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->subscribers = calloc(subscribers + stopped + 1, sizeof(int));
    for (int i = 0; i < subscribers + stopped; i++) {
        int fd = load->subscribers[i] = connectTo(load->server.subscribing);
        load->protocol->beginSubscribing(fd);
        if (i < subscribers) watchFor(load, fd, EPOLLIN, EPOLL_CTL_ADD);
    }
    load->publisher = connectTo(load->server.publishing);
    load->protocol->beginPublishing(load->publisher);
    watchFor(load, load->publisher, EPOLLIN, EPOLL_CTL_ADD);
    load->requests = malloc(2 * PIPELINE * 1024);
    for (int i = 0; i < 2 * PIPELINE; i++) {
        char *end = load->requests + load->offsets[i];
        load->offsets[i + 1] = load->offsets[i] + load->protocol->publish(end, i);
    }
}

static void end(struct load *load) {
    for (int i = 0; i < load->count; i++) close(load->subscribers[i]);
    close(load->publisher);
    close(load->epoll);
    serverStop(&load->server);
}

static void push(struct load *load) {
    while (load->restCount) {
        ssize_t sent = send(load->publisher, load->rest, load->restCount,
            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) fail("publish: %m");
        if (sent < 0) return watchFor(load, load->publisher, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        load->rest += sent;
        load->restCount -= sent;
    }
}

// Publishes until so many are unanswered.
static void publish(struct load *load, uint64_t limit) {
    uint64_t unanswered = load->published - answered(load);
    if (load->restCount || unanswered >= limit) return;
    uint64_t first = load->published % PIPELINE, count = limit - unanswered;
    load->rest = load->requests + load->offsets[first];
    load->restCount = load->offsets[first + count] - load->offsets[first];
    load->published += count;
    push(load);
}

// The size of a D-Bus message, whose header says it.
static size_t messageSize(const char *bytes) {
    uint32_t body, fields;
    memcpy(&body, bytes + 4, 4);
    memcpy(&fields, bytes + 12, 4);
    return 16 + (fields + 7) / 8 * 8 + body;
}

// Reads once from every socket that has something; false if none had for so many milliseconds.
static bool turnWithin(struct load *load, int milliseconds) {
    struct epoll_event events[256];
    int count = epoll_wait(load->epoll, events, 256, milliseconds);
    if (count < 0) fail("epoll_wait: %m");
    for (int i = 0; i < count; i++) {
        int fd = events[i].data.fd;
        if (fd == load->publisher && events[i].events & EPOLLOUT) {
            watchFor(load, fd, EPOLLIN, EPOLL_CTL_MOD);
            push(load);
        }
        if (!(events[i].events & ~EPOLLOUT)) continue;
        ssize_t bytes = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (bytes < 0 && errno == EAGAIN) continue;
        if (bytes <= 0) fail("%s closed a connection: %m", load->server.name);
        if (fd == load->publisher) {
            load->answerBytes += bytes;
            if (load->protocol->answers && !load->protocol->answer) {
                load->answers += newlines(buffer, bytes, 1);
            }
        } else {
            if (load->protocol == &dbus && !load->delivery) load->delivery = messageSize(buffer);
            load->deliveredBytes += bytes;
            if (!load->delivery) load->deliveries += newlines(buffer, bytes, SHORTEST_LINE);
        }
    }
    return count > 0;
}

static void turn(struct load *load) {
    if (!turnWithin(load, 5000)) fail("%s has been silent for 5 s", load->server.name);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void printPercentiles(double *samples, size_t count) {
    qsort(samples, count, sizeof *samples, compare);
    printf(" p50us=%.2f p99us=%.2f", samples[count / 2], samples[count * 99 / 100]);
}

void flood(const char *name, int subscribers, int stopped, double seconds) {
    struct load load;
    begin(&load, name, subscribers, stopped);
    uint64_t end_ = now() + 200000000;
    do {
        publish(&load, PIPELINE);
        turn(&load);
    } while (now() < end_);
    uint64_t began = now(), cpu = serverCPU(&load.server);
    uint64_t deliveries = delivered(&load), publishes = answered(&load);
    end_ = began + seconds * 1e9;
    do {
        publish(&load, PIPELINE);
        turn(&load);
    } while (now() < end_);
    double elapsed = (now() - began) / 1e9;
    deliveries = delivered(&load) - deliveries;
    publishes = answered(&load) - publishes;
    cpu = serverCPU(&load.server) - cpu;
    while (turnWithin(&load, 200)) continue;
    double all = (double)load.published * subscribers;
    printf("delivered=%.0f published=%.0f cpuNs=%.2f bytes=%.1f missed%%=%.3f peakKiB=%ld\n",
        deliveries / elapsed, publishes / elapsed, (double)cpu / deliveries,
        (double)load.deliveredBytes / delivered(&load), 100 * (1 - delivered(&load) / all),
        serverMemory(&load.server, "VmHWM"));
    end(&load);
}

void pingPong(const char *name, int subscribers, double seconds) {
    enum { WARMUP = 200, LIMIT = 200000 };
    double *samples = malloc(LIMIT * sizeof *samples);
    struct load load;
    size_t count = 0, warm = 0;
    uint64_t cpu = 0, end_ = 0;
    begin(&load, name, subscribers, 0);
    while (count < LIMIT) {
        uint64_t began = now();
        if (warm == WARMUP && !end_) {
            cpu = serverCPU(&load.server);
            end_ = began + seconds * 1e9;
        }
        if (end_ && began > end_) break;
        load.published++;
        uint64_t first = load.published % PIPELINE;
        load.rest = load.requests + load.offsets[first];
        load.restCount = load.offsets[first + 1] - load.offsets[first];
        push(&load);
        do {
            turn(&load);
        } while (delivered(&load) < load.published * subscribers);
        double micros = (now() - began) / 1e3;
        while (answered(&load) < load.published) turn(&load);
        if (warm < WARMUP) warm++;
        else samples[count++] = micros;
    }
    cpu = serverCPU(&load.server) - cpu;
    printf("cpuNs=%.0f count=%zu", (double)cpu / count, count);
    printPercentiles(samples, count);
    printf("\n");
    end(&load);
    free(samples);
}

void roundTrip(const char *name, const char *operation, double seconds) {
    enum { WARMUP = 1000, LIMIT = 400000 };
    double *samples = malloc(LIMIT * sizeof *samples);
    struct load load;
    begin(&load, name, 0, 0);
    bool isGet = !strcmp(operation, "get");
    int fd = load.publisher;
    uint64_t end_ = now() + seconds * 1e9, cpu = 0;
    size_t count = 0, warm = 0;
    while (count < LIMIT && now() < end_) {
        char request[1024];
        size_t size = isGet ? load.protocol->get(request)
                            : load.protocol->set(request, count + warm);
        if (warm == WARMUP && !count) cpu = serverCPU(&load.server);
        uint64_t began = now(), missing = isGet ? load.protocol->getLines : 1;
        sendAll(fd, request, size);
        while (missing) {
            ssize_t bytes = recv(fd, buffer, sizeof buffer, 0);
            if (bytes <= 0) fail("%s does not answer: %m", name);
            missing -= newlines(buffer, bytes, 1);
        }
        double micros = (now() - began) / 1e3;
        if (warm < WARMUP) warm++;
        else samples[count++] = micros;
    }
    cpu = serverCPU(&load.server) - cpu;
    printf("cpuNs=%.0f count=%zu", (double)cpu / count, count);
    printPercentiles(samples, count);
    printf("\n");
    end(&load);
    free(samples);
}

void idle(const char *name, int subscribers, double seconds) {
    struct load load;
    // The first few connections make what all of them share.
    begin(&load, name, 10, 0);
    usleep(500000);
    long before = serverMemory(&load.server, "VmRSS");
    for (int i = 0; i < subscribers; i++) load.protocol->beginSubscribing(
        connectTo(load.server.subscribing));
    usleep(500000);
    long after = serverMemory(&load.server, "VmRSS");
    struct wakeups wakeups = {0};
    serverWakeups(&load.server, &wakeups);
    uint64_t cpu = serverCPU(&load.server);
    usleep(seconds * 1e6);
    printf("restKiB=%ld perSubscriber=%.0f wakeups=%.2f cpuUs=%.1f\n", before,
        (after - before) * 1024.0 / subscribers,
        serverWakeups(&load.server, &wakeups) / seconds,
        (serverCPU(&load.server) - cpu) / 1e3 / seconds);
    end(&load);
}

void start(const char *name, int changes) {
    const char *history = changes ? getenv("HISTORY") : NULL;
    if (changes && !history) fail("$HISTORY names no state directory");
    struct server server;
    // One that brings what it reads into memory, then one that finds it there.
    serverStart(&server, name, history);
    struct files *files = serverFiles(&server);
    serverStop(&server);
    serverStart(&server, name, history);
    usleep(200000);
    printf("readyMs=%.2f restKiB=%ld", server.readyMs, serverMemory(&server, "VmRSS"));
    serverStop(&server);
    forget(files);
    serverStart(&server, name, history);
    printf(" coldMs=%.2f\n", server.readyMs);
    serverStop(&server);
}
