// What one commit of one such row takes in SQLite alone, in WAL mode: the floor of a lone set.
//
//     commit FILE COUNT normal|full PAUSE
//         prints the median in microseconds; PAUSE, also in microseconds, goes before each
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void run(sqlite3 *database, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &error)) {
        fprintf(stderr, "%s: %s\n", sql, error);
        exit(1);
    }
}

static int ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    int count = atoi(argv[2]), pause = atoi(argv[4]);
    sqlite3 *database;
    if (sqlite3_open(argv[1], &database)) return 1;
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA synchronous = %s", argv[3]);
    run(database, "PRAGMA journal_mode = WAL");
    run(database, pragma);
    run(database,
        "CREATE TABLE change (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, state TEXT NOT NULL, "
        "data TEXT NOT NULL, fromState TEXT, fromData TEXT, uid INTEGER, pid INTEGER, cause TEXT) STRICT");
    sqlite3_stmt *insert, *begin, *commit;
    sqlite3_prepare_v2(
        database,
        "INSERT INTO change VALUES (?, 1, 'authentication', '{\"phase\":\"active\"}', NULL, NULL, 0, 4711, NULL)",
        -1, &insert, NULL);
    sqlite3_prepare_v2(database, "BEGIN IMMEDIATE", -1, &begin, NULL);
    sqlite3_prepare_v2(database, "COMMIT", -1, &commit, NULL);
    double *times = calloc((size_t)count, sizeof *times);
    for (int i = 0; i < count; i++) {
        if (pause) usleep((useconds_t)pause);
        double start = now();
        sqlite3_step(begin);
        sqlite3_reset(begin);
        sqlite3_bind_int64(insert, 1, i + 1);
        if (sqlite3_step(insert) != SQLITE_DONE) return 1;
        sqlite3_reset(insert);
        if (sqlite3_step(commit) != SQLITE_DONE) return 1;
        sqlite3_reset(commit);
        times[i] = now() - start;
    }
    qsort(times, (size_t)count, sizeof *times, ascending);
    printf("%.1f\n", times[count / 2]);
    free(times);
}
