#include "CFailingSync.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

static sqlite3_vfs *base;
static sqlite3_vfs failing;
/// Of database files, and of those that nobody locks.
static struct {
    const sqlite3_io_methods *usual;
    sqlite3_io_methods failing;
} methods[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int failures;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int sync_or_fail(sqlite3_file *file, int flags) {
    int left = atomic_load(&failures);
    while (left > 0 && !atomic_compare_exchange_weak(&failures, &left, left - 1)) {
    }
    return left == 0 ? methods[0].usual->xSync(file, flags) : SQLITE_IOERR_FSYNC;
}

/// The methods of a file, with another sync: all kinds have the same.
static const sqlite3_io_methods *failing_methods(const sqlite3_io_methods *usual) {
    pthread_mutex_lock(&lock);
    int index = methods[0].usual && methods[0].usual != usual ? 1 : 0;
    methods[index].failing = *usual;
    methods[index].failing.xSync = sync_or_fail;
    methods[index].usual = usual;
    pthread_mutex_unlock(&lock);
    return &methods[index].failing;
}

static int open_file(
    sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *given) {
    int code = base->xOpen(base, name, file, flags, given);
    if (code == SQLITE_OK && name && strstr(name, "/failing-sync/")) {
        file->pMethods = failing_methods(file->pMethods);
    }
    return code;
}

static void register_vfs(void) {
    base = sqlite3_vfs_find(NULL);
    failing = *base;
    failing.zName = "failing-sync";
    failing.pNext = NULL;
    failing.xOpen = open_file;
    sqlite3_vfs_register(&failing, 1);
}

void failing_sync_register(void) { pthread_once(&once, register_vfs); }

void failing_sync_fail(int count) { atomic_store(&failures, count); }
