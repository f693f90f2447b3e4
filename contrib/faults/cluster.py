"""Members of etcd and daemons, each in a network of its own, which can be killed, stopped and cut off."""
import asyncio
import json
import os
import signal
import subprocess

CLIENT, PEER = 2379, 2380
MACHINE = """machine: faults
start: idle
states:
  idle: {to: [set]}
  set: {fields: {id: {type: string, max: 40}}, to: [set, idle]}
"""


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


class Place:
    """A process in a network of its own, on a bridge that joins all."""

    def __init__(self, name, number, directory):
        self.name, self.address, self.directory = name, f"10.0.57.{number}", f"{directory}/{name}"
        self.process = None
        os.mkdir(self.directory, 0o700)
        run("ip", "netns", "add", name)
        run("ip", "link", "add", "name", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "-n", name, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", name, "link", "set", "dev", device, "up")
        self.heal()
        run("ip", "link", "set", "dev", f"to-{name}", "up")

    def cut(self):
        """No packet comes or goes from here on, and nobody says so."""
        run("ip", "link", "set", "dev", f"to-{self.name}", "nomaster")

    def heal(self):
        run("ip", "link", "set", "dev", f"to-{self.name}", "master", "between")

    def start(self, *words):
        # pylint: disable=consider-using-with
        with open(f"{self.directory}/log", "ab") as log:
            self.process = subprocess.Popen(["ip", "netns", "exec", self.name, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def send(self, number):
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def said(self):
        """The end of its log."""
        with open(f"{self.directory}/log", encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]


class Member(Place):
    """A member of etcd."""

    def serve(self, members):
        client, peer = f"http://{self.address}:{CLIENT}", f"http://{self.address}:{PEER}"
        self.start("etcd", "--name", self.name, "--data-dir", f"{self.directory}/etcd", "--logger", "zap", "--pre-vote",
                   "--enable-grpc-gateway=false", "--listen-client-urls", client, "--advertise-client-urls", client,
                   "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", ",".join(f"{each.name}=http://{each.address}:{PEER}" for each in members))

    async def asks(self, *words):
        """What etcdctl prints, or nothing within a second and a half."""
        done = await asyncio.create_subprocess_exec(
            "etcdctl", "--endpoints", f"http://{self.address}:{CLIENT}", "--command-timeout", "1500ms", *words,
            env={**os.environ, "ETCDCTL_API": "3"}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return (await done.communicate())[0].decode() if done else ""

    async def leads(self):
        try:
            status = json.loads(await self.asks("endpoint", "status", "--write-out", "json"))[0]["Status"]
        except (ValueError, IndexError):
            return False
        return status.get("leader", 0) == status["header"]["member_id"]

    async def is_well(self):
        return "true" in await self.asks("endpoint", "health", "--write-out", "json")


class Host(Place):
    """A host of the machine."""

    def serve(self, programs, file, members, settings):
        self.start(f"{programs}/statemachine-cluster", "--config", "/dev/null", "--machine", file, "--runtime-directory", self.directory,
                   "--host", self.name, "--log-transitions", "0", "--engine-insecure",
                   "--engine-endpoints", ",".join(f"http://{each.address}:{CLIENT}" for each in members), *settings)

    @property
    def control(self):
        return f"{self.directory}/control.sock"

    @property
    def events(self):
        return f"{self.directory}/events.sock"


class Cluster:
    """All of them."""

    def __init__(self, members, hosts, directory, programs, settings):
        run("ip", "link", "set", "dev", "lo", "up")
        run("ip", "link", "add", "name", "between", "type", "bridge")
        run("ip", "link", "set", "dev", "between", "up")
        # To ask the members; clients of daemons need no network.
        run("ip", "address", "add", "10.0.57.254/24", "dev", "between")
        self.members = [Member(f"m{number}", number, directory) for number in range(1, members + 1)]
        self.hosts = [Host(f"h{number}", 100 + number, directory) for number in range(1, hosts + 1)]
        self.programs, self.settings, self.file = programs, settings, f"{directory}/faults.yaml"
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(MACHINE)

    async def begin(self):
        for member in self.members:
            member.serve(self.members)
        await self.is_well()
        for host in self.hosts:
            self.serve(host)

    def serve(self, host):
        host.serve(self.programs, self.file, self.members, self.settings)

    async def is_well(self):
        """Waits until each member serves."""
        for member in self.members:
            while not await member.is_well():
                if member.process.poll() is not None:
                    raise RuntimeError(f"{member.name} has ended:\n{member.said()}")
                await asyncio.sleep(0.05)

    async def leader(self):
        while True:
            for member in self.members:
                if await member.leads():
                    return member
            await asyncio.sleep(0.1)
