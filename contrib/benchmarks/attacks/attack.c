// Root's sets beside what other users do at events.sock, within the limits that they are given.
//
//     attack DIRECTORY OTHER LOAD USERS DEPTH SECONDS
//
// Prints the rate of sets, DEPTH of them unanswered, alone, the rate beside the load, and the longest pause
// of each, in microseconds. Both are measured in turn, a second each, the load being stopped in between, and
// alone is at a daemon of its own in OTHER: processors are shared with others, and what these take has to be
// in both. Every user has 64 connections, which is all that the defaults allow. The one who sets runs on the
// last processor and the load on any, at the lowest priority: measured is what the daemon does with what it
// is sent, not who gets the processor. For root.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { connections = 64, firstUser = 3001, textLimit = 1 << 18 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static int door(const char *directory, const char *name) {
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) fail("socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", directory, name);
    if (connect(socket_, (struct sockaddr *)&address, sizeof address) < 0) {
        close(socket_);
        return -1;
    }
    return socket_;
}

// MARK: What is sent

// A load: what a connection sends first, what it goes on sending, and what it does then.
struct load {
    const char *name;
    void (*first)(char *into);
    void (*line)(char *into);
    enum { flood, silent, mixed, deaf, vanish, storm } manner;
};

static void add(char *into, const char *format, ...) {
    size_t length = strlen(into);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(into + length, textLimit - length, format, arguments);
    va_end(arguments);
}

// The end of a request that lists as many patterns as there may be, none of which the setter's states match.
static void patterns(char *into, const char *key) {
    static const char *phases[] = {"idle", "active", "success", "failure"};
    static const char *states[] = {"authentication", "dataRetrieval"};
    add(into, ",\"%s\":[", key);
    for (int i = 0; i < 32; i++)
        add(into, "%s\"%s:phase=%s\"", i ? "," : "", states[i / 4 % 2], phases[i % 4]);
    add(into, "]}\n");
}

static void ping(char *into) { add(into, "{\"op\":\"ping\"}\n"); }
static void stats(char *into) { add(into, "{\"op\":\"stats\"}\n"); }
static void get(char *into) { add(into, "{\"op\":\"get\"}\n"); }
static void describe(char *into) { add(into, "{\"op\":\"describe\"}\n"); }
static void history(char *into) { add(into, "{\"op\":\"history\",\"limit\":10000}\n"); }
static void historyOnly(char *into) {
    add(into, "{\"op\":\"history\",\"limit\":10000");
    patterns(into, "only");
}
static void shortWait(char *into) {
    add(into, "{\"op\":\"wait\",\"timeoutMs\":0");
    patterns(into, "until");
}
static void waits(char *into) {
    for (int i = 0; i < 32; i++) {
        add(into, "{\"op\":\"wait\",\"id\":%d", i);
        patterns(into, "until");
    }
}
static void watches(char *into) {
    for (int i = 1; i < 8; i++) add(into, "{\"op\":\"watch\",\"id\":%d}\n", i);
}
static void beats(char *into) {
    for (int i = 1; i < 8; i++) add(into, "{\"op\":\"watch\",\"id\":%d,\"beatMs\":100}\n", i);
}
static void paces(char *into) {
    for (int i = 1; i < 8; i++)
        add(into, "{\"op\":\"watch\",\"id\":%d,\"mode\":\"latest\",\"everyMs\":10}\n", i);
}
// Watches that match nothing, which costs as much as those that do and takes no reading.
static void vainWatches(char *into) {
    for (int i = 1; i < 8; i++) {
        add(into, "{\"op\":\"watch\",\"id\":%d", i);
        patterns(into, "only");
    }
}
// As much to be read as fits, for nothing.
static void keys(char *into) {
    add(into, "{\"op\":\"get\"");
    for (int i = 0; i < 2000; i++) add(into, ",\"\\u0061%x\":0", i);
    add(into, "}\n");
}
static void nothing(char *into) { (void)into; }

static const struct load loads[] = {
    {"ping", nothing, ping, flood},
    {"get", nothing, get, flood},
    {"stats", nothing, stats, flood},
    {"describe", nothing, describe, flood},
    {"short-waits", nothing, shortWait, flood},
    {"history", nothing, history, flood},
    {"history-only", nothing, historyOnly, flood},
    {"keys", nothing, keys, flood},
    {"mixed", vainWatches, stats, mixed},
    {"idle-waits", waits, nothing, silent},
    {"watches", watches, nothing, silent},
    {"beats", beats, nothing, silent},
    {"paces", paces, nothing, silent},
    {"deaf", watches, stats, deaf},
    {"vanish", nothing, stats, vanish},
    {"storm", nothing, nothing, storm},
};

// As much as a socket takes of one line again and again.
static void repeat(char *text, const struct load *load) {
    static char line[textLimit];
    load->line(line);
    size_t length = strlen(line);
    text[0] = 0;
    if (length == 0) return;
    for (size_t at = 0; at + length < textLimit; at += length) memcpy(text + at, line, length + 1);
}

// MARK: Who sends

// A connection, and how much of what it repeats it has sent.
struct client {
    int socket;
    size_t sent;
};

static void begin(struct client *client, const char *directory, const char *first) {
    client->socket = door(directory, "events.sock");
    client->sent = 0;
    if (client->socket < 0) return;
    fcntl(client->socket, F_SETFL, O_NONBLOCK);
    // The door's first lines fit into the socket together with these.
    for (size_t at = 0, length = strlen(first); at < length;) {
        ssize_t count = write(client->socket, first + at, length - at);
        if (count > 0) at += (size_t)count;
        else if (errno != EAGAIN) return;
        else poll(&(struct pollfd){client->socket, POLLOUT, 0}, 1, 100);
    }
}

// Until it is ended.
static void attack(const char *directory, const struct load *load, uid_t user) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpriority(PRIO_PROCESS, 0, 19);
    signal(SIGPIPE, SIG_IGN);
    if (setgroups(0, NULL) || setgid(user) || setuid(user)) fail("setuid");
    static char first[textLimit], text[textLimit], drain[1 << 16];
    load->first(first);
    repeat(text, load);
    size_t length = strlen(text);
    struct client clients[connections] = {};
    struct pollfd polls[connections];
    for (int i = 0; i < connections; i++) clients[i].socket = -1;
    for (;;) {
        for (int i = 0; i < connections; i++) {
            // Of a mixed load one in eight floods, and the others do what they do silently.
            bool isSilent = load->manner == mixed && i % 8 != 0;
            bool isFlooding = load->manner == mixed && i % 8 == 0;
            if (clients[i].socket < 0) begin(&clients[i], directory, isFlooding ? "" : first);
            short events = load->manner == deaf ? 0 : POLLIN;
            if (length > 0 && !isSilent) events |= POLLOUT;
            polls[i] = (struct pollfd){clients[i].socket, events, 0};
        }
        poll(polls, connections, load->manner == storm ? 0 : 100);
        for (int i = 0; i < connections; i++) {
            struct client *client = &clients[i];
            if (client->socket < 0) continue;
            bool isOver = load->manner == storm || (polls[i].revents & (POLLHUP | POLLERR));
            if (polls[i].revents & POLLIN)
                if (read(client->socket, drain, sizeof drain) == 0) isOver = true;
            if (polls[i].revents & POLLOUT) {
                ssize_t count = write(client->socket, text + client->sent, length - client->sent);
                if (count > 0) client->sent += (size_t)count;
                if (client->sent == length) client->sent = 0;
                // As much as it takes at once, and gone.
                if (load->manner == vanish) isOver = true;
            }
            if (isOver) {
                close(client->socket);
                client->socket = -1;
            }
        }
    }
}

// Keeps a processor from sleeping, for nobody's time: waking one up takes longer than a set, and the load
// would do that for the setter's good.
static pid_t keepAwake(int processor) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child > 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    sched_setaffinity(0, sizeof set, &set);
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0})) fail("SCHED_IDLE");
    for (;;) __asm__ volatile("");
}

// MARK: Who sets

// Sends requests and waits for as many answers.
static void ask(int control, const char *requests, int count) {
    char answer[4096];
    if (write(control, requests, strlen(requests)) < 0) fail("write");
    while (count > 0) {
        ssize_t got = read(control, answer, sizeof answer);
        if (got <= 0) fail("read");
        for (ssize_t i = 0; i < got; i++) count -= answer[i] == '\n';
    }
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

// How long 99 of 100 gets take at most, one after the other, in microseconds.
static double slowGet(int control, double seconds) {
    static double times[1 << 20];
    size_t count = 0;
    double start = now(), last = start;
    while (last - start < seconds && count < sizeof times / sizeof *times) {
        ask(control, "{\"op\":\"get\"}\n", 1);
        double time = now();
        times[count++] = time - last;
        last = time;
    }
    qsort(times, count, sizeof *times, compare);
    return times[(count * 99 + 99) / 100 - 1] * 1e6;
}

// Sets a second, so many of them unanswered; the longest pause in microseconds.
static double set(int control, int depth, double seconds, double *pause) {
    static const char *lines[] = {
        "{\"op\":\"set\",\"state\":\"ready\",\"data\":{\"value\":true}}\n",
        "{\"op\":\"set\",\"state\":\"ready\",\"data\":{\"value\":false}}\n",
    };
    double start = now(), last = start, longest = 0;
    int count = 0;
    while (last - start < seconds) {
        char many[64 * 64] = "";
        for (int i = 0; i < depth; i++) strcat(many, lines[i % 2 == count % 2]);
        ask(control, many, depth);
        double time = now();
        if (time - last > longest) longest = time - last;
        last = time;
        count += depth;
    }
    *pause = longest * 1e6;
    return count / (last - start);
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: attack DIRECTORY OTHER LOAD USERS DEPTH SECONDS\n");
        return 2;
    }
    int users = atoi(argv[4]);
    int depth = atoi(argv[5]);
    int seconds = atoi(argv[6]);
    const struct load *load = NULL;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (strcmp(loads[i].name, argv[3]) == 0) load = &loads[i];
    if (load == NULL || users < 1 || users > 32 || depth < 1 || depth > 64 || seconds < 1) {
        fprintf(stderr, "attack: no such load\n");
        return 2;
    }
    cpu_set_t all, last;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&last);
    int processor = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
    CPU_SET(processor, &last);
    pid_t awake[] = {keepAwake(0), keepAwake(processor)};

    pid_t attackers[32];
    int control = door(argv[1], "control.sock"), quiet = door(argv[2], "control.sock");
    if (control < 0 || quiet < 0) fail("control.sock");
    sched_setaffinity(0, sizeof last, &last);
    double alone = 0, beside = 0, slowestGet = 0, pause = 0, longest;
    for (int i = 0; i < users; i++) {
        attackers[i] = fork();
        if (attackers[i] < 0) fail("fork");
        if (attackers[i] == 0) {
            sched_setaffinity(0, sizeof all, &all);
            attack(argv[1], load, firstUser + (uid_t)i);
        }
    }
    // Until they are all there: eight users with 64 connections each, at 200 a second and user.
    set(control, depth, 1, &longest);
    for (int second = 0; second < seconds; second++) {
        for (int i = 0; i < users; i++) kill(attackers[i], SIGSTOP);
        set(quiet, depth, 0.3, &longest);
        alone += set(quiet, depth, 1, &longest) / seconds;
        for (int i = 0; i < users; i++) kill(attackers[i], SIGCONT);
        set(control, depth, 0.3, &longest);
        beside += set(control, depth, 1, &longest) / seconds;
        if (longest > pause) pause = longest;
        double slow = slowGet(control, 0.5);
        if (slow > slowestGet) slowestGet = slow;
    }
    for (int i = 0; i < users; i++) {
        kill(attackers[i], SIGKILL);
        waitpid(attackers[i], NULL, 0);
    }
    for (int i = 0; i < 2; i++) {
        kill(awake[i], SIGKILL);
        waitpid(awake[i], NULL, 0);
    }
    printf("%s %d %d %.0f %.0f %.0f %.0f\n", load->name, users, depth, alone, beside, slowestGet, pause);
    return 0;
}
