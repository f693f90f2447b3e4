// What the driver says to each server, and what it waits for before a load begins.
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Bytes of a delivery by Redis.
#define REDIS_DELIVERY (sizeof "*3\r\n$7\r\nmessage\r\n$1\r\ns\r\n$213\r\n\r\n" - 1 + PAYLOAD)

int connectTo(const char *path) {
    struct sockaddr_un address = addressOf(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) {
        fail("connect to %s: %m", path);
    }
    return fd;
}

void sendAll(int fd, const void *bytes, size_t count) {
    if (send(fd, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) fail("send: %m");
}

void receiveExactly(int fd, void *bytes, size_t count) {
    ssize_t received = recv(fd, bytes, count, MSG_WAITALL);
    if (received != (ssize_t)count) fail("%zd bytes came instead of %zu: %m", received, count);
}

void receiveLine(int fd) {
    char byte = 0;
    while (byte != '\n') receiveExactly(fd, &byte, 1);
}

static void payload(char *bytes, uint64_t number) {
    memset(bytes, 'x', PAYLOAD);
    snprintf(bytes, 32, "%020llu", (unsigned long long)number);
    bytes[20] = ' ';
}

static void nothing(int fd) { (void)fd; }

// MARK: ours

static size_t setState(char *bytes, uint64_t number) {
    return sprintf(bytes, "%s\n",
        number % 2 ? "{\"op\":\"set\",\"state\":\"authentication\",\"data\":{\"phase\":\"active\"}}"
                   : "{\"op\":\"set\",\"state\":\"dataRetrieval\",\"data\":{\"phase\":\"success\"}}");
}

static size_t getState(char *bytes) { return sprintf(bytes, "{\"op\":\"get\"}\n"); }

const struct protocol statemachine = {
    .answers = 1,
    .getLines = 1,
    .publish = setState,
    .set = setState,
    .get = getState,
    .beginPublishing = nothing,
    .beginSubscribing = receiveLine,
};

// MARK: the floor

static size_t publishLine(char *bytes, uint64_t number) {
    // As long as a delivery of Redis.
    const size_t count = REDIS_DELIVERY;
    memset(bytes, 'x', count);
    payload(bytes, number);
    bytes[count - 1] = '\n';
    return count;
}

static size_t getLine(char *bytes) { return sprintf(bytes, "get\n"); }

static void watch(int fd) {
    sendAll(fd, "watch\n", 6);
    receiveLine(fd);
}

const struct protocol lines = {
    .answers = 1,
    .getLines = 1,
    .publish = publishLine,
    .set = publishLine,
    .get = getLine,
    .beginPublishing = nothing,
    .beginSubscribing = watch,
};

// MARK: Redis

static size_t redisPublish(char *bytes, uint64_t number) {
    size_t count = sprintf(bytes, "*3\r\n$7\r\nPUBLISH\r\n$1\r\ns\r\n$%d\r\n", PAYLOAD);
    payload(bytes + count, number);
    count += PAYLOAD;
    return count + sprintf(bytes + count, "\r\n");
}

static size_t redisSet(char *bytes, uint64_t number) {
    size_t count = sprintf(bytes, "*3\r\n$3\r\nSET\r\n$1\r\ns\r\n$%d\r\n", PAYLOAD);
    payload(bytes + count, number);
    count += PAYLOAD;
    return count + sprintf(bytes + count, "\r\n");
}

static size_t redisBoth(char *bytes, uint64_t number) {
    size_t count = redisSet(bytes, number);
    return count + redisPublish(bytes + count, number);
}

static size_t redisGet(char *bytes) { return sprintf(bytes, "*2\r\n$3\r\nGET\r\n$1\r\ns\r\n"); }

static void redisPrepare(int fd) {
    char bytes[1024];
    sendAll(fd, bytes, redisSet(bytes, 0));
    receiveLine(fd);
}

static void redisSubscribe(int fd) {
    static const char subscribe[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\ns\r\n";
    static const char answer[] = "*3\r\n$9\r\nsubscribe\r\n$1\r\ns\r\n:1\r\n";
    char bytes[sizeof answer - 1];
    sendAll(fd, subscribe, sizeof subscribe - 1);
    receiveExactly(fd, bytes, sizeof bytes);
}

const struct protocol redis = {
    .delivery = REDIS_DELIVERY,
    .answers = 1,
    .getLines = 2,
    .publish = redisPublish,
    .set = redisSet,
    .get = redisGet,
    .beginPublishing = redisPrepare,
    .beginSubscribing = redisSubscribe,
};

const struct protocol redisSetAndPublish = {
    .delivery = REDIS_DELIVERY,
    .answers = 2,
    .getLines = 2,
    .publish = redisBoth,
    .set = redisSet,
    .get = redisGet,
    .beginPublishing = redisPrepare,
    .beginSubscribing = redisSubscribe,
};

// MARK: MQTT 3.1.1; published at QoS 1 so that there is an answer, delivered at QoS 0

static void mqttConnect(int fd) {
    static const char connect[] = "\x10\x0c\0\4MQTT\4\2\0\0\0\0";
    char answer[4];
    sendAll(fd, connect, sizeof connect - 1);
    receiveExactly(fd, answer, sizeof answer);
    if (answer[3]) fail("mosquitto refuses: %d", answer[3]);
}

static void mqttSubscribe(int fd) {
    static const char subscribe[] = "\x82\6\0\1\0\1s\0";
    char answer[5];
    mqttConnect(fd);
    sendAll(fd, subscribe, sizeof subscribe - 1);
    receiveExactly(fd, answer, sizeof answer);
}

static size_t mqttPublish(char *bytes, uint64_t number) {
    int rest = 3 + 2 + PAYLOAD;
    char head[] = {0x32, (rest & 127) | 128, rest >> 7, 0, 1, 's', 1, number % PIPELINE + 1};
    memcpy(bytes, head, sizeof head);
    payload(bytes + sizeof head, number);
    return sizeof head + PAYLOAD;
}

const struct protocol mqtt = {
    .delivery = 3 + 3 + PAYLOAD,
    .answer = 4,
    .answers = 1,
    .publish = mqttPublish,
    .beginPublishing = mqttConnect,
    .beginSubscribing = mqttSubscribe,
};
