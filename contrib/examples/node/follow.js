// Follows a machine over restarts and says what is lost: node follow.js DIRECTORY
const net = require("net");
const path = process.argv[2] + "/control.sock";
const LONGEST = 1 << 24; // of a line: limits.serverLineBytes of describe
let cursor, pause = 100;

function connect() {
    let rest = Buffer.alloc(0);
    let heard = Date.now();
    let hint = 0;
    const socket = net.connect(path, () => {
        socket.write(JSON.stringify({ op: "watch", id: 1, since: cursor, beatMs: 10000 }) + "\n");
    });
    socket.on("data", (bytes) => {
        heard = Date.now();
        rest = Buffer.concat([rest, bytes]);
        for (let end; (end = rest.indexOf(10)) >= 0; rest = rest.subarray(end + 1)) {
            take(JSON.parse(rest.subarray(0, end).toString()));
        }
        if (rest.length > LONGEST) socket.destroy(new Error("a line without end"));
    });
    const alive = setInterval(() => { if (Date.now() - heard > 20000) socket.destroy(); }, 1000);
    socket.on("error", (error) => console.error(error.message));
    socket.on("close", () => { // what is left in rest has no newline: it is thrown away
        clearInterval(alive);
        console.log("gone");
        setTimeout(connect, Math.max(hint, pause) * (0.8 + 0.4 * Math.random()));
        pause = Math.min(2 * pause, 5000);
    });
    function take(line) {
        if (line.type === "reply" && !line.ok) throw new Error(line.error + ": " + line.message);
        if (line.type === "bye") hint = line.retryMs || 0;
        if (line.resync) console.log("lost", line.missed ?? "some", line.resync);
        if (line.type === "state" || line.type === "change") console.log(line.seq, line.state, JSON.stringify(line.data));
        if (line.cursor) cursor = line.cursor; // of state, change, live, beat and declared
        if (line.type === "state" || line.type === "live") pause = 100;
    }
}
connect();
