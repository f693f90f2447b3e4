// Sets against one daemon: pipelined by several connections, or one at a time.
//
//     load SOCKET PID pipelined CONNECTIONS WINDOW SECONDS
//         prints sets a second, and the processor time that process PID took for each, in nanoseconds
//     load SOCKET PID lone COUNT PAUSE
//         prints the median round trip in microseconds; PAUSE, also in microseconds, goes before each
//
// Each connection goes back and forth between two states of its own, so that every set is a change.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char *const states[][2] = {
    {"\"state\":\"ready\",\"data\":{\"value\":true}", "\"state\":\"ready\",\"data\":{\"value\":false}"},
    {"\"state\":\"authentication\",\"data\":{\"phase\":\"idle\"}",
     "\"state\":\"authentication\",\"data\":{\"phase\":\"active\"}"},
    {"\"state\":\"authentication\",\"data\":{\"phase\":\"success\"}",
     "\"state\":\"authentication\",\"data\":{\"phase\":\"failure\"}"},
    {"\"state\":\"dataRetrieval\",\"data\":{\"phase\":\"idle\"}",
     "\"state\":\"dataRetrieval\",\"data\":{\"phase\":\"active\"}"},
    {"\"state\":\"dataRetrieval\",\"data\":{\"phase\":\"success\"}",
     "\"state\":\"dataRetrieval\",\"data\":{\"phase\":\"failure\"}"},
};
enum { most_connections = sizeof states / sizeof states[0] };

static void die(const char *what) {
    perror(what);
    exit(1);
}

static int dial(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address)) die(path);
    return socket_;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Sends the next sets of a connection, whose number it is; each is another state than the one before.
static void send_sets(int socket_, int connection, int count) {
    static char text[1 << 20];
    static int sent_before[most_connections];
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        int number = sent_before[connection]++;
        // The daemon may be in the first state already.
        int size = snprintf(text + length, sizeof text - length, "{\"op\":\"set\",%s%s}\n",
            states[connection][number % 2], number ? "" : ",\"reenter\":true");
        if (length + (size_t)size >= sizeof text) exit(2);
        length += (size_t)size;
    }
    for (size_t sent = 0; sent < length;) {
        ssize_t size = send(socket_, text + sent, length - sent, MSG_NOSIGNAL);
        if (size < 0) die("send");
        sent += (size_t)size;
    }
}

// Reads what is there, and returns how many sets it answers; ends if one of them is refused.
static int answers(int socket_) {
    static char text[1 << 18];
    ssize_t size = recv(socket_, text, sizeof text - 1, 0);
    if (size <= 0) die("recv");
    text[size] = 0;
    for (int i = 0; i < 2; i++) {
        const char *bad = strstr(text, i ? "\"changed\":false" : "\"ok\":false");
        if (bad) {
            fprintf(stderr, "not a change: %.300s\n", bad);
            exit(1);
        }
    }
    int count = 0;
    for (char *end = text; (end = memchr(end, '\n', (size_t)(text + size - end))); end++) count++;
    return count;
}

// The processor time that the process has taken, all its threads, in nanoseconds.
static double processor_time(int process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &time)) die("clock");
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void pipelined(const char *path, int process, int connections, int window, double seconds) {
    struct pollfd polls[most_connections];
    if (connections > most_connections) exit(2);
    for (int i = 0; i < connections; i++) {
        polls[i] = (struct pollfd){.fd = dial(path), .events = POLLIN};
        send_sets(polls[i].fd, i, window);
    }
    long count = 0;
    double start = now(), measured = start + seconds / 4, end = 0, taken = 0;
    int is_measuring = 0;
    do {
        if (poll(polls, (nfds_t)connections, 5000) <= 0) die("poll");
        for (int i = 0; i < connections; i++) {
            if (!polls[i].revents) continue;
            int answered = answers(polls[i].fd);
            count += answered;
            send_sets(polls[i].fd, i, answered);
        }
        end = now();
        // The first quarter warms up.
        if (!is_measuring && end >= measured) {
            is_measuring = 1;
            count = 0;
            measured = end;
            taken = processor_time(process);
        }
    } while (!is_measuring || end - measured < seconds);
    taken = processor_time(process) - taken;
    printf("%.0f %.0f\n", (double)count / (end - measured), taken / (double)count);
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void lone(const char *path, int count, int pause) {
    int socket_ = dial(path);
    double *times = calloc((size_t)count, sizeof *times);
    for (int i = 0; i < count; i++) {
        if (pause) usleep((useconds_t)pause);
        double start = now();
        send_sets(socket_, 0, 1);
        while (answers(socket_) == 0) {}
        times[i] = (now() - start) * 1e6;
    }
    qsort(times, (size_t)count, sizeof *times, ascending);
    printf("%.1f\n", times[count / 2]);
    free(times);
}

int main(int argc, char **argv) {
    if (argc == 7 && !strcmp(argv[3], "pipelined")) {
        pipelined(argv[1], atoi(argv[2]), atoi(argv[4]), atoi(argv[5]), atof(argv[6]));
    } else if (argc == 6 && !strcmp(argv[3], "lone")) {
        lone(argv[1], atoi(argv[4]), atoi(argv[5]));
    } else {
        fprintf(stderr,
            "usage: load SOCKET PID pipelined CONNECTIONS WINDOW SECONDS | load SOCKET PID lone COUNT PAUSE\n");
        return 2;
    }
}
