// How each server is started, stopped, and looked at from outside.
#define _GNU_SOURCE
#include "driver.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// More than any load connects.
#define CONNECTIONS "10500"

static void path(char *into, const struct server *server, const char *name) {
    snprintf(into, 96, "%s/%s", server->directory, name);
}

static const char *writeFile(const struct server *server, const char *name, const char *text) {
    static char file[96];
    path(file, server, name);
    FILE *stream = fopen(file, "w");
    if (!stream || fputs(text, stream) < 0 || fclose(stream)) fail("write %s: %m", file);
    return file;
}

static const char *program(const char *variable, const char *otherwise) {
    const char *value = getenv(variable);
    return value ? value : otherwise;
}

// In the child: becomes the server.
static void run(const struct server *server) {
    const char *name = server->name, *socket = server->publishing;
    char directory[96], other[512], state[96], option[128];
    if (!strncmp(name, "statemachine", 12)) {
        path(directory, server, "run");
        path(state, server, "state");
        const char *arguments[16] = {
            strstr(name, "own") ? program("OWN", "own-daemon")
                                : program("STATEMACHINE", "statemachine"),
            "--runtime-directory", directory, "--max-connections", CONNECTIONS};
        size_t count = 5;
        // Without a state directory it is ephemeral.
        unsetenv("STATE_DIRECTORY");
        if (server->history || strstr(name, "durable")) {
            arguments[count++] = "--state-directory";
            arguments[count++] = server->history ? server->history : state;
            // As Redis, which writes within a second.
            arguments[count++] = "--durability";
            arguments[count++] = "commit";
        }
        if (strstr(name, "declared")) {
            arguments[count++] = "--machine";
            arguments[count++] = program("DECLARED", "declared.yaml");
        }
        execv(arguments[0], (char **)arguments);
    } else if (!strncmp(name, "redis", 5)) {
        bool isDurable = strchr(name, '-') != NULL;
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket, "--dir",
            server->directory, "--save", "", "--maxclients", CONNECTIONS, "--appendonly",
            isDurable ? "yes" : "no", "--appendfsync", "everysec", NULL);
    } else if (!strcmp(name, "mosquitto")) {
        snprintf(other, sizeof other,
            "listener 0 %s\nallow_anonymous true\npersistence false\nuser root\nlog_type error\n"
            "max_queued_messages 0\n",
            socket);
        execlp("mosquitto", "mosquitto", "-c", writeFile(server, "conf", other), NULL);
    } else if (!strcmp(name, "dbus-daemon")) {
        snprintf(other, sizeof other,
            "<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>"
            "<policy context='default'><allow send_destination='*' eavesdrop='true'/><allow eavesdrop='true'/><allow own='*'/></policy>"
            "<limit name='max_connections_per_user'>100000</limit>"
            "<limit name='max_completed_connections'>100000</limit></busconfig>",
            socket);
        snprintf(option, sizeof option, "--config-file=%s", writeFile(server, "conf", other));
        execlp("dbus-daemon", "dbus-daemon", option, "--nofork", "--nopidfile", NULL);
    } else {
        execl(program("FLOOR", "floor"), "floor", socket, NULL);
    }
    fail("cannot start %s: %m", name);
}

struct sockaddr_un addressOf(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    return address;
}

static int notifySocket(const char *path) {
    struct sockaddr_un address = addressOf(path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address)) fail("notify: %m");
    struct timeval limit = {.tv_sec = 30};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static void awaitReady(int fd) {
    char text[4096];
    while (true) {
        ssize_t count = recv(fd, text, sizeof text - 1, 0);
        if (count < 0) fail("no READY=1: %m");
        text[count] = 0;
        if (strstr(text, "READY=1")) return;
    }
}

static void awaitSocket(const char *path) {
    for (int tries = 0; tries < 10000; tries++) {
        struct sockaddr_un address = addressOf(path);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int error = connect(fd, (struct sockaddr *)&address, sizeof address);
        close(fd);
        if (!error) return;
        usleep(1000);
    }
    fail("nobody listens on %s", path);
}

void serverStart(struct server *server, const char *name, const char *history) {
    bool isOurs = !strncmp(name, "statemachine", 12);
    *server = (struct server){.name = name, .history = history};
    server->protocol = isOurs                      ? &statemachine
                       : !strcmp(name, "redis-aof") ? &redisSetAndPublish
                       : !strcmp(name, "redis")     ? &redis
                       : !strcmp(name, "mosquitto") ? &mqtt
                       : !strcmp(name, "dbus-daemon") ? &dbus
                                                      : &lines;
    strcpy(server->directory, "/tmp/statemachine-benchmark.XXXXXX");
    if (!mkdtemp(server->directory)) fail("mkdtemp: %m");
    path(server->publishing, server, isOurs ? "run/control.sock" : "socket");
    path(server->subscribing, server, isOurs ? "run/events.sock" : "socket");
    char notify[96];
    path(notify, server, "notify");
    int ready = notifySocket(notify);
    uint64_t before = now();
    server->pid = fork();
    if (server->pid < 0) fail("fork: %m");
    if (server->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cpu_set_t processors;
        CPU_ZERO(&processors);
        CPU_SET(0, &processors);
        sched_setaffinity(0, sizeof processors, &processors);
        if (isOurs) setenv("NOTIFY_SOCKET", notify, 1);
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, STDOUT_FILENO);
        if (!getenv("VERBOSE")) dup2(quiet, STDERR_FILENO);
        run(server);
    }
    if (isOurs) {
        awaitReady(ready);
    } else {
        awaitSocket(server->publishing);
    }
    server->readyMs = (now() - before) / 1e6;
    close(ready);
}

void serverStop(struct server *server) {
    kill(server->pid, SIGTERM);
    for (int tries = 0; waitpid(server->pid, NULL, WNOHANG) == 0; tries++) {
        if (tries == 500) kill(server->pid, SIGKILL);
        usleep(10000);
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", server->directory);
    if (system(command)) fail("%s failed", command);
}

struct files {
    int count;
    char paths[64][512];
};

struct files *serverFiles(const struct server *server) {
    struct files *files = calloc(1, sizeof *files);
    char line[1024], file[64];
    snprintf(file, sizeof file, "/proc/%d/maps", server->pid);
    FILE *maps = fopen(file, "r");
    if (!files || !maps) fail("%s has ended", server->name);
    while (fgets(line, sizeof line, maps) && files->count < 60) {
        line[strcspn(line, "\n")] = 0;
        char *path = strchr(line, '/');
        // A file stands there once for each of its parts.
        if (!path || (files->count && !strcmp(files->paths[files->count - 1], path))) continue;
        snprintf(files->paths[files->count++], 512, "%s", path);
    }
    fclose(maps);
    if (server->history) {
        snprintf(files->paths[files->count++], 512, "%s/statemachine.sqlite", server->history);
        snprintf(files->paths[files->count++], 512, "%s/statemachine.sqlite-wal", server->history);
    }
    return files;
}

void forget(struct files *files) {
    for (int i = 0; i < files->count; i++) {
        int fd = open(files->paths[i], O_RDONLY | O_CLOEXEC);
        // Not there any more.
        if (fd < 0) continue;
        // What has not been written yet would stay.
        fdatasync(fd);
        int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (error) fail("fadvise %s: %s", files->paths[i], strerror(error));
        close(fd);
    }
    free(files);
}

uint64_t serverCPU(const struct server *server) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(server->pid, &clock) || clock_gettime(clock, &time)) {
        fail("%s has ended", server->name);
    }
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static long statusLine(const char *file, const char *key) {
    FILE *stream = fopen(file, "r");
    if (!stream) return 0;
    char line[256];
    long value = 0;
    while (fgets(line, sizeof line, stream)) {
        if (!strncmp(line, key, strlen(key))) value = atol(line + strlen(key) + 1);
    }
    fclose(stream);
    return value;
}

long serverMemory(const struct server *server, const char *key) {
    char file[64];
    snprintf(file, sizeof file, "/proc/%d/status", server->pid);
    return statusLine(file, key);
}

long serverWakeups(const struct server *server, struct wakeups *wakeups) {
    char file[512];
    snprintf(file, sizeof file, "/proc/%d/task", server->pid);
    DIR *tasks = opendir(file);
    if (!tasks) fail("%s has ended", server->name);
    struct wakeups before = *wakeups;
    long sum = 0;
    wakeups->count = 0;
    for (struct dirent *task; (task = readdir(tasks)) && wakeups->count < MOST_THREADS;) {
        pid_t id = atoi(task->d_name);
        if (!id) continue;
        snprintf(file, sizeof file, "/proc/%d/task/%d/status", server->pid, id);
        long count = statusLine(file, "voluntary_ctxt_switches");
        wakeups->threads[wakeups->count].id = id;
        wakeups->threads[wakeups->count++].wakeups = count;
        for (int i = 0; i < before.count; i++) {
            if (before.threads[i].id == id) count -= before.threads[i].wakeups;
        }
        sum += count;
    }
    closedir(tasks);
    return sum;
}
