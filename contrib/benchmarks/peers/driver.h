// The load driver: one process that publishes, and reads as N subscribers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

// Bytes of what is published: with Redis's framing a delivery has 245, as ours has.
#define PAYLOAD 213
// Publishes that may be unanswered.
#define PIPELINE 256

// MARK: servers.c

struct server {
    const char *name;
    const struct protocol *protocol;
    pid_t pid;
    char directory[48];
    // A state directory that outlives it; null: it has none, or one of its own.
    const char *history;
    // Where to publish, and where to subscribe.
    char publishing[96], subscribing[96];
    double readyMs;
};

// Starts the server of that name on processor 0, on that history if one is given; returns when it can be
// connected to.
void serverStart(struct server *server, const char *name, const char *history);
void serverStop(struct server *server);
// Has the kernel forget what it holds in memory of the server's program, its libraries and its history,
// once the server has been stopped, except for what other processes use.
struct files;
struct files *serverFiles(const struct server *server);
void forget(struct files *files);
// Nanoseconds of processor time, of all its threads.
uint64_t serverCPU(const struct server *server);
// A line of /proc/PID/status, in KiB: VmRSS, VmHWM.
long serverMemory(const struct server *server, const char *key);
// How often each of its threads has gone to sleep and been woken.
#define MOST_THREADS 64
struct wakeups {
    int count;
    struct {
        pid_t id;
        long wakeups;
    } threads[MOST_THREADS];
};
// Counts anew; returns how many have come since `wakeups` was counted before.
long serverWakeups(const struct server *server, struct wakeups *wakeups);

// MARK: protocols.c

struct protocol {
    // Bytes of a delivered message; 0: it is a line.
    size_t delivery;
    // Bytes of an answer to a publish; 0: it is a line.
    size_t answer;
    // Answers to a publish; 0: there are none, and the first subscriber's delivery stands for one.
    int answers;
    // Lines that answer `get`.
    int getLines;
    // Writes into `bytes` what publishes something, the `number`th time; returns how many bytes.
    size_t (*publish)(char *bytes, uint64_t number);
    // Writes what sets the value, answered by a line; null: there is no such thing.
    size_t (*set)(char *bytes, uint64_t number);
    // Writes into `bytes` what asks for the newest value; null: there is no such thing.
    size_t (*get)(char *bytes);
    // Makes a connection a publisher's or a subscriber's; returns when the server has said so.
    void (*beginPublishing)(int fd);
    void (*beginSubscribing)(int fd);
};

extern const struct protocol statemachine, redis, redisSetAndPublish, mqtt, dbus, lines;

struct sockaddr_un addressOf(const char *path);
// Blocking; the process ends with a message if it fails.
int connectTo(const char *path);
void sendAll(int fd, const void *bytes, size_t count);
void receiveExactly(int fd, void *bytes, size_t count);
void receiveLine(int fd);

// MARK: loads.c

void flood(const char *name, int subscribers, int stopped, double seconds);
void pingPong(const char *name, int subscribers, double seconds);
void roundTrip(const char *name, const char *operation, double seconds);
void idle(const char *name, int subscribers, double seconds);
void start(const char *name, int changes);

_Noreturn void fail(const char *format, ...);
uint64_t now(void);
