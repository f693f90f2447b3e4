// D-Bus, as far as a signal and its match rule need it: little-endian messages, version 1.
#include "driver.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { METHOD_CALL = 1, SIGNAL = 4 };
enum { PATH = 1, INTERFACE = 2, MEMBER = 3, DESTINATION = 6, SIGNATURE = 8 };

static size_t align(char *bytes, size_t count, size_t boundary) {
    while (count % boundary) bytes[count++] = 0;
    return count;
}

static size_t append(char *bytes, size_t count, const char *string) {
    uint32_t length = strlen(string);
    count = align(bytes, count, 4);
    memcpy(bytes + count, &length, 4);
    memcpy(bytes + count + 4, string, length + 1);
    return count + 4 + length + 1;
}

static size_t field(char *bytes, size_t count, char code, char type, const char *string) {
    count = align(bytes, count, 8);
    bytes[count++] = code;
    bytes[count++] = 1;
    bytes[count++] = type;
    bytes[count++] = 0;
    if (type != 'g') return append(bytes, count, string);
    bytes[count++] = strlen(string);
    strcpy(bytes + count, string);
    return count + strlen(string) + 1;
}

static size_t message(
    char *bytes, char type, const char *path, const char *interface, const char *member,
    const char *destination, const char *argument
) {
    size_t count = 16;
    count = field(bytes, count, PATH, 'o', path);
    count = field(bytes, count, INTERFACE, 's', interface);
    count = field(bytes, count, MEMBER, 's', member);
    if (destination) count = field(bytes, count, DESTINATION, 's', destination);
    if (argument) count = field(bytes, count, SIGNATURE, 'g', "s");
    uint32_t fields = count - 16;
    count = align(bytes, count, 8);
    uint32_t body = argument ? append(bytes + count, 0, argument) : 0;
    uint32_t serial = 1;
    memcpy(bytes, (char[]){'l', type, 0, 1}, 4);
    memcpy(bytes + 4, &body, 4);
    memcpy(bytes + 8, &serial, 4);
    memcpy(bytes + 12, &fields, 4);
    return count + body;
}

// Receives one message; returns its type.
static int receiveMessage(int fd) {
    char bytes[4096];
    uint32_t body, fields;
    receiveExactly(fd, bytes, 16);
    memcpy(&body, bytes + 4, 4);
    memcpy(&fields, bytes + 12, 4);
    size_t rest = (fields + 7) / 8 * 8 + body;
    if (rest > sizeof bytes - 16) fail("a message of %zu bytes came", rest);
    receiveExactly(fd, bytes + 16, rest);
    return bytes[1];
}

static void call(int fd, const char *member, const char *argument) {
    char bytes[1024];
    size_t count = message(bytes, METHOD_CALL, "/org/freedesktop/DBus", "org.freedesktop.DBus",
        member, "org.freedesktop.DBus", argument);
    sendAll(fd, bytes, count);
}

static void hello(int fd) {
    char text[64], hex[32] = "";
    int count = sprintf(text, "%u", geteuid());
    for (int i = 0; i < count; i++) sprintf(hex + 2 * i, "%02x", text[i]);
    sendAll(fd, text, sprintf(text, "%cAUTH EXTERNAL %s\r\n", 0, hex));
    receiveLine(fd);
    sendAll(fd, "BEGIN\r\n", 7);
    call(fd, "Hello", NULL);
    // The reply, and NameAcquired.
    receiveMessage(fd);
    receiveMessage(fd);
}

static void subscribe(int fd) {
    hello(fd);
    call(fd, "AddMatch", "type='signal',interface='a.State'");
    receiveMessage(fd);
}

static size_t publish(char *bytes, uint64_t number) {
    char text[PAYLOAD + 1];
    snprintf(text, sizeof text, "%020llu%*s", (unsigned long long)number, PAYLOAD - 20, "");
    return message(bytes, SIGNAL, "/s", "a.State", "Changed", NULL, text);
}

// With the sender's name, `:1.0` to `:1.999`, the header has 16 or 24 bytes more than what was sent;
// the loads learn the size from the first signal that comes.
const struct protocol dbus = {
    .publish = publish,
    .beginPublishing = hello,
    .beginSubscribing = subscribe,
};
