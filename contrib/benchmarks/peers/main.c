// driver LOAD SERVER SUBSCRIBERS SECONDS: works one server with one load; prints one line of key=value.
#define _GNU_SOURCE
#include "driver.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("driver: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 5) fail("driver LOAD SERVER SUBSCRIBERS SECONDS");
    const char *load = arguments[1], *server = arguments[2];
    int subscribers = atoi(arguments[3]);
    double seconds = atof(arguments[4]);
    // Whatever happens it ends, and the server with it.
    alarm(120);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0, &processors);
    sched_setaffinity(0, sizeof processors, &processors);
    printf("%s %s %d ", load, server, subscribers);
    fflush(stdout);
    if (!strcmp(load, "flood")) flood(server, subscribers, 0, seconds);
    else if (!strcmp(load, "unhindered")) flood(server, subscribers, 0, seconds);
    else if (!strcmp(load, "slow")) flood(server, subscribers, 1, seconds);
    else if (!strcmp(load, "ping-pong")) pingPong(server, subscribers, seconds);
    else if (!strcmp(load, "get") || !strcmp(load, "set")) roundTrip(server, load, seconds);
    else if (!strcmp(load, "idle")) idle(server, subscribers, seconds);
    else if (!strcmp(load, "start")) start(server, subscribers);
    else fail("there is no load %s", load);
    return 0;
}
