# Reads the driver's lines; prints medians, and the bars with the medians of the rounds' ratios.

function median(list, values, n, i, j, t) {
    n = split(list, values, " ")
    for (i = 2; i <= n; i++) {
        t = values[i] + 0
        for (j = i - 1; j >= 1 && values[j] + 0 > t; j--) values[j + 1] = values[j]
        values[j + 1] = t
    }
    if (n == 0) return ""
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}

function short(x) {
    if (x == "") return "-"
    if (x >= 1e6 || x <= -1e6) return sprintf("%.2f M", x / 1e6)
    if (x >= 1e4) return sprintf("%.1f k", x / 1e3)
    return sprintf(x >= 100 || x == int(x) ? "%.0f" : "%.2f", x)
}

function ratio(a, b, x, y, n, m, i, list) {
    n = split(all[a], x, " ")
    m = split(all[b], y, " ")
    for (i = 1; i <= n && i <= m; i++) if (y[i] != 0) list = list " " x[i] / y[i]
    return median(list)
}

# One bar; sense 1: at least, -1: at most.
function bar(what, load, n, key, server, sense, limit, aim, r) {
    r = ratio(load SUBSEP ours SUBSEP n SUBSEP key, load SUBSEP server SUBSEP n SUBSEP key)
    if (r == "") return
    judge(what, server, sprintf("%.2f ×", r), r, sense, limit, aim, " ×")
}

function judge(what, server, shown, r, sense, limit, aim, unit) {
    printf("| %s | %s | %s | %s %s%s | %s%s | %s |\n", what, server, shown, \
        sense > 0 ? "at least" : "at most", limit, unit, aim, unit, \
        sense * r < sense * limit ? "NO" : sense * r < sense * aim ? "yes" : "yes, and the aim")
}

# The row's cost at another server of ours.
function beside(server, what, limit, x) {
    x = ratio(row[1] SUBSEP server SUBSEP row[2] SUBSEP cost, row[1] SUBSEP ours SUBSEP row[2] SUBSEP cost)
    if (x == "") return
    judge(what ": " row[1] (row[2] ? " " row[2] : "") ", " cost, ours, \
        sprintf("%.2f ×", x), x, -1, limit, 1, " ×")
}

function value(load, n, key) { return median(all[load SUBSEP ours SUBSEP n SUBSEP key]) }

BEGIN {
    ours = variant == "" ? "statemachine" : "statemachine-" variant
    redis = variant == "" ? "redis" : "redis-aof"
    declared = variant == "" ? "statemachine-declared" : "statemachine-declared-" variant
    own = variant == "" ? "statemachine-own" : "statemachine-own-" variant
    order = ours " " own " " declared " " redis " floor dbus-daemon mosquitto"
}

{
    if (!seen[$1, $3]++) rows[++count] = $1 SUBSEP $3
    for (i = 4; i <= NF; i++) {
        split($i, pair, "=")
        all[$1, $2, $3, pair[1]] = all[$1, $2, $3, pair[1]] " " pair[2]
        if (!known[$1, $3, pair[1]]++) keys[$1, $3] = keys[$1, $3] " " pair[1]
    }
}

END {
    names = split(order, server, " ")
    printf "| load | N | figure |"
    for (s = 1; s <= names; s++) printf " %s |", server[s]
    printf "\n|---|---|---|"
    for (s = 1; s <= names; s++) printf "---|"
    print ""
    for (r = 1; r <= count; r++) {
        split(rows[r], row, SUBSEP)
        n = split(keys[row[1], row[2]], key, " ")
        for (i = 1; i <= n; i++) {
            printf "| %s | %s | %s |", row[1], row[2], key[i]
            for (s = 1; s <= names; s++) {
                printf " %s |", short(median(all[row[1], server[s], row[2], key[i]]))
            }
            print ""
        }
    }
    print "\n| bar | against | ratio | has to be | aim | holds |\n|---|---|---|---|---|---|"
    bar("flood 1000, delivered/s", "flood", 1000, "delivered", redis, 1, 5, 8)
    bar("flood 100, delivered/s", "flood", 100, "delivered", redis, 1, 3, 5)
    bar("flood 100, CPU for each delivery", "flood", 100, "cpuNs", "floor", -1, 1.5, 1.1)
    bar("flood 1000, CPU for each delivery", "flood", 1000, "cpuNs", "floor", -1, 1.25, 1.1)
    bar("flood 10, delivered/s", "flood", 10, "delivered", redis, 1, 1, 2)
    bar("flood 100, delivered/s", "flood", 100, "delivered", "dbus-daemon", 1, 20, 80)
    bar("flood 100, delivered/s", "flood", 100, "delivered", "mosquitto", 1, 20, 80)
    bar("flood 1, published/s", "flood", 1, "published", redis, 1, 0.5, 1)
    bar("ping-pong 1, p50", "ping-pong", 1, "p50us", redis, -1, 1.05, 1)
    bar("ping-pong 10, p50", "ping-pong", 10, "p50us", redis, -1, 1.05, 1)
    bar("ping-pong 100, p50", "ping-pong", 100, "p50us", redis, -1, 1.05, 1)
    bar("ping-pong 1000, p50", "ping-pong", 1000, "p50us", redis, -1, 1.15, 0.95)
    bar("get, p50", "get", 0, "p50us", redis, -1, 1.1, 1)
    bar("set, p50", "set", 0, "p50us", redis, -1, 1.1, 1)
    bar("memory for a silent subscriber", "idle", 10000, "perSubscriber", redis, -1, 0.5, 0.2)
    slowed = ratio("slow" SUBSEP ours SUBSEP 100 SUBSEP "delivered", \
        "unhindered" SUBSEP ours SUBSEP 100 SUBSEP "delivered")
    if (slowed != "") {
        judge("flood 100 with a stopped subscriber", "without it", sprintf("%.2f ×", slowed), \
            slowed, 1, 0.9, 1, " ×")
    }
    if ((x = value("idle", 10000, "restKiB")) != "") {
        judge("resident at rest", "", sprintf("%.1f MiB", x / 1024), x / 1024, -1, 32, 15, " MiB")
        x = value("idle", 10000, "wakeups")
        judge("wake-ups a second at rest", "", x, x, -1, 0, 0, "")
    }
    # What an enum of a program's own, and a machine declared in a file, cost beside the stock states.
    for (r = 1; r <= count; r++) {
        split(rows[r], row, SUBSEP)
        if (row[1] == "flood") cost = "cpuNs"
        else if (row[1] == "ping-pong" || row[1] == "get" || row[1] == "set") cost = "p50us"
        else if (row[1] == "start" && row[2] == 0) cost = "readyMs"
        else continue
        beside(own, "own", 1.1)
        beside(declared, "declared", 1.2)
    }
    if ((x = median(all["idle", declared, 10000, "wakeups"])) != "") {
        judge("declared, a deadline an hour away: wake-ups a second at rest", "", x, x, -1, 0, 0, "")
    }
    if ((x = value("start", 0, "readyMs")) != "") {
        judge("exec to READY, warm", "", sprintf("%.1f ms", x), x, -1, 50, 20, " ms")
    }
    if ((x = value("start", 1000000, "readyMs")) != "") {
        judge("the same with 1,000,000 changes", "", sprintf("%.1f ms", x), x, -1, 1000, 100, " ms")
    }
}
