// floor SOCKET: the least that a server of this kind can do.
//
// One thread, epoll, lines in, one shared log of bytes, a cursor for each subscriber. A line is
// `watch`, `get`, or what is to be told to everybody; it is not looked into. What a turn of the loop
// has gathered goes to each subscriber in one write. One that falls off the log goes on at its end.
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

// Bytes of the log; a power of two.
#define LOG (4u << 20)

struct client {
    int fd;
    bool isWatching, isBlocked;
    uint64_t cursor;
    // Where it is in `watching`.
    int index;
    // A line that has not come to its end.
    char partial[1024];
    size_t partialCount;
};

static char ring[LOG], input[1 << 16], output[1 << 16];
static char newest[1024] = "nothing\n";
static size_t newestCount = 8;
static uint64_t head;
static struct client **watching;
static int watchingCount, epoll;

static void leave(struct client *client) {
    close(client->fd);
    if (client->isWatching) {
        struct client *last = watching[--watchingCount];
        watching[client->index] = last;
        last->index = client->index;
    }
    free(client);
}

static bool writeNew(struct client *client) {
    while (client->cursor < head) {
        if (head - client->cursor > LOG) client->cursor = head;
        size_t from = client->cursor % LOG, count = head - client->cursor;
        size_t first = count < LOG - from ? count : LOG - from;
        struct iovec parts[] = {{ring + from, first}, {ring, count - first}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count > first ? 2 : 1};
        ssize_t sent = sendmsg(client->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN) return false;
        if (sent > 0) client->cursor += sent;
        bool isBlocked = sent < (ssize_t)count;
        if (isBlocked != client->isBlocked) {
            struct epoll_event event = {EPOLLIN | (isBlocked ? EPOLLOUT : 0), {client}};
            epoll_ctl(epoll, EPOLL_CTL_MOD, client->fd, &event);
            client->isBlocked = isBlocked;
        }
        if (isBlocked) return true;
    }
    return true;
}

static size_t answer(struct client *client, const char *line, size_t count, char *out) {
    if (count == 6 && !memcmp(line, "watch\n", 6)) {
        client->isWatching = true;
        client->cursor = head;
        client->index = watchingCount;
        watching = realloc(watching, (watchingCount + 1) * sizeof *watching);
        watching[watchingCount++] = client;
    } else if (count != 4 || memcmp(line, "get\n", 4)) {
        size_t from = head % LOG, first = count < LOG - from ? count : LOG - from;
        memcpy(ring + from, line, first);
        memcpy(ring, line + first, count - first);
        head += count;
        memcpy(newest, line, newestCount = count);
        memcpy(out, "ok\n", 3);
        return 3;
    }
    memcpy(out, newest, newestCount);
    return newestCount;
}

static bool readNew(struct client *client) {
    memcpy(input, client->partial, client->partialCount);
    ssize_t count = recv(client->fd, input + client->partialCount,
        sizeof input - client->partialCount, MSG_DONTWAIT);
    if (count <= 0) return count < 0 && errno == EAGAIN;
    char *line = input, *end = input + client->partialCount + count, *newline;
    size_t written = 0;
    while ((newline = memchr(line, '\n', end - line))) {
        if (newline - line >= (ssize_t)sizeof newest) return false;
        written += answer(client, line, newline + 1 - line, output + written);
        line = newline + 1;
        if (written > sizeof output - sizeof newest) break;
    }
    client->partialCount = end - line;
    if (client->partialCount > sizeof client->partial) return false;
    memcpy(client->partial, line, client->partialCount);
    return !written || send(client->fd, output, written, MSG_NOSIGNAL) == (ssize_t)written;
}

int main(int count, char **arguments) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[count - 1]);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) {
        perror("floor");
        return 1;
    }
    epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {EPOLLIN, {NULL}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    while (true) {
        struct epoll_event events[256];
        uint64_t before = head;
        int ready = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            if (!client) {
                client = calloc(1, sizeof *client);
                client->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                event = (struct epoll_event){EPOLLIN, {client}};
                epoll_ctl(epoll, EPOLL_CTL_ADD, client->fd, &event);
                continue;
            }
            bool goesOn = !(events[i].events & EPOLLOUT) || writeNew(client);
            if (goesOn && events[i].events & ~EPOLLOUT) goesOn = readNew(client);
            if (!goesOn) leave(client);
        }
        if (head == before) continue;
        for (int i = 0; i < watchingCount; i++) {
            if (!watching[i]->isBlocked) writeNew(watching[i]);
        }
    }
}
