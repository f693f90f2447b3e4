// Sets against one daemon: pipelined by several connections, or one at a time.
//
//     load SOCKET pipelined CONNECTIONS WINDOW SECONDS   prints sets a second
//     load SOCKET lone COUNT                             prints the median round trip in microseconds
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

static const char *const sets[] = {
    "{\"op\":\"set\",\"state\":\"authentication\",\"data\":{\"phase\":\"active\"},\"reenter\":true}\n",
    "{\"op\":\"set\",\"state\":\"ready\",\"data\":{\"value\":true},\"reenter\":true}\n",
};

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

static void send_sets(int socket_, int count) {
    static char text[1 << 20];
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        const char *set = sets[i % 2];
        size_t size = strlen(set);
        if (length + size > sizeof text) exit(2);
        memcpy(text + length, set, size);
        length += size;
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
    if (strstr(text, "\"ok\":false")) {
        fprintf(stderr, "refused: %.300s\n", strstr(text, "\"ok\":false"));
        exit(1);
    }
    int count = 0;
    for (char *end = text; (end = memchr(end, '\n', (size_t)(text + size - end))); end++) count++;
    return count;
}

static void pipelined(const char *path, int connections, int window, double seconds) {
    struct pollfd polls[64];
    if (connections > 64) exit(2);
    for (int i = 0; i < connections; i++) {
        polls[i] = (struct pollfd){.fd = dial(path), .events = POLLIN};
        send_sets(polls[i].fd, window);
    }
    long count = 0;
    double start = now(), measured = start + seconds / 4, end = 0;
    int is_measuring = 0;
    do {
        if (poll(polls, (nfds_t)connections, 5000) <= 0) die("poll");
        for (int i = 0; i < connections; i++) {
            if (!polls[i].revents) continue;
            int answered = answers(polls[i].fd);
            count += answered;
            send_sets(polls[i].fd, answered);
        }
        end = now();
        // The first quarter warms up.
        if (!is_measuring && end >= measured) {
            is_measuring = 1;
            count = 0;
            measured = end;
        }
    } while (!is_measuring || end - measured < seconds);
    printf("%.0f\n", (double)count / (end - measured));
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void lone(const char *path, int count) {
    int socket_ = dial(path);
    double *times = calloc((size_t)count, sizeof *times);
    for (int i = 0; i < count; i++) {
        double start = now();
        send_sets(socket_, 1);
        while (answers(socket_) == 0) {}
        times[i] = (now() - start) * 1e6;
    }
    qsort(times, (size_t)count, sizeof *times, ascending);
    printf("%.1f\n", times[count / 2]);
    free(times);
}

int main(int argc, char **argv) {
    if (argc == 6 && !strcmp(argv[2], "pipelined")) {
        pipelined(argv[1], atoi(argv[3]), atoi(argv[4]), atof(argv[5]));
    } else if (argc == 4 && !strcmp(argv[2], "lone")) {
        lone(argv[1], atoi(argv[3]));
    } else {
        fprintf(stderr, "usage: load SOCKET pipelined CONNECTIONS WINDOW SECONDS | lone COUNT\n");
        return 2;
    }
}
