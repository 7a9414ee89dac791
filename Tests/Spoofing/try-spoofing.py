#!/usr/bin/env python3
"""Tries to poison the answers of `kind: dns` with forged datagrams, in a user and network namespace of its own.

usage: try-spoofing.py [--for SECONDS] PROGRAM

PROGRAM is resolve-test, with the traits CommandLine and NIO. Its agent is in a network of its own, at 192.0.2.1. The
name server (this script) and the forger (forger.c, compiled here) are on the other end of the cable, at 192.0.2.53.
Each lookup is for a new random name, whose address is 192.0.2.10. Every forged record has 198.51.100.66.

  flood     The forger knows name and time of each lookup. It guesses port and ID, without a pause, for SECONDS (10).
  port      It also knows the port. It sends every ID while the server holds its answer back for a second or more.
            Then it also knows the ID, and guesses the case of the letters.
  source    It forges everything but the right address, or the right port, of the server.
  owners    The server's own answers have records of other names, and addresses outside of the answer section.
  fragment  It plants the end of a datagram, which the kernel appends to the beginning of the server's answer.

Two controls must be poisoned: a resolver with a fixed port and sequential IDs that ignores case, and the agent when the
forger sees its queries. The status is 0 if they are, if no other lookup of the agent is, and if each lookup whose port
is known goes over TCP.
"""

import argparse
import atexit
import collections
import heapq
import json
import os
import random
import selectors
import shutil
import signal
import socket
import string
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CLIENT, SERVER, OTHER = "192.0.2.1", "192.0.2.53", "192.0.2.54"
RIGHT, CHAINED, FORGED = "192.0.2.10", "192.0.2.20", "198.51.100.66"
# The ports that Linux draws from unless told otherwise (ip_local_port_range).
FIRST_PORT, LAST_PORT = 32768, 60999
WEAK_PORT = 40000
A, NS, CNAME = 1, 2, 5
# The labels of long names.
LABELS = [letter * 60 for letter in string.ascii_lowercase]
MTU = 1500
# No event that is waited for takes this long.
PATIENCE = 60

draw = random.SystemRandom()


def new_name(length=24):
    """A name of random letters, 30 bits of case and more."""
    return "".join(draw.choices(string.ascii_lowercase, k=length)) + ".spoof.test"


def wire(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(name, value, kind=A):
    data = socket.inet_aton(value) if kind == A else wire(value)
    return wire(name) + struct.pack(">HHIH", kind, 1, 300, len(data)) + data


def answer(query, sections):
    """The message for a query, with its ID and the question as it was sent."""
    end = query.index(0, 12) + 5
    counts = [len(section) for section in sections]
    head = query[:2] + struct.pack(">HHHHH", 0x8180, 1, *counts)
    return head + query[12:end] + b"".join(part for section in sections for part in section)


def name_in(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
        at += query[at] + 1
    return ".".join(labels)


class NameServer(threading.Thread):
    """The real server. Its answers over UDP may be late; those over TCP are not."""

    def __init__(self):
        super().__init__(daemon=True)
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind((SERVER, 53))
        self.listener = socket.create_server((SERVER, 53), backlog=64)
        self.reset()

    def reset(self, delay=0.0):
        self.delay = delay
        # No answer over UDP leaves before this is set.
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.sections = lambda name: ([record(name, RIGHT)], [], [])
        self.send = self.datagrams.sendto
        self.asked = {"udp": collections.Counter(), "tcp": collections.Counter()}

    def reply(self, query, transport):
        name = name_in(query)
        self.asked[transport][name] += 1
        return answer(query, self.sections(name))

    def run(self):
        selector = selectors.DefaultSelector()
        selector.register(self.datagrams, selectors.EVENT_READ)
        selector.register(self.listener, selectors.EVENT_READ)
        late = []
        while True:
            wait = max(late[0][0] - time.monotonic(), 0.01) if late else None
            for key, _ in selector.select(wait):
                if key.fileobj is self.listener:
                    self.serve_stream(self.listener.accept()[0])
                    continue
                query, peer = self.datagrams.recvfrom(4096)
                heapq.heappush(late, (time.monotonic() + self.delay, self.reply(query, "udp"), peer))
            while late and late[0][0] <= time.monotonic() and self.may_answer.is_set():
                self.send(*heapq.heappop(late)[1:])

    def serve_stream(self, connection):
        with connection, connection.makefile("rb") as stream:
            connection.settimeout(PATIENCE)
            query = stream.read(int.from_bytes(stream.read(2), "big"))
            if len(query) > 16:
                message = self.reply(query, "tcp")
                connection.sendall(struct.pack(">H", len(message)) + message)


class Child:
    """A process that ends with this one."""

    def __init__(self, *command):
        guarded = ["setpriv", "--pdeathsig", "TERM", *command]
        self.process = subprocess.Popen(guarded, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        atexit.register(self.terminate)

    def write(self, line):
        self.process.stdin.write(line + "\n")

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"try-spoofing: {self.process.args} ended with status {self.process.wait()}")
        return line.strip()

    def terminate(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def end(self):
        """Closes its input, and returns what it printed last."""
        return self.process.communicate()[0]


class Agent:
    """resolve-test in the client's network, which this makes."""

    title = "agent"

    def __init__(self, program, folder):
        path = folder / "socket"
        (folder / "httpdns.yaml").write_text(f"""version: 1
providers: {{ office: {{ kind: dns, servers: ["{SERVER}"], answer_scope: public }} }}
routes: {{ "*": {{ providers: [office], fallback: none }} }}
resolver: {{ time_limit: 30s }}
agent: {{ varlink: {path}, time_limit: 30s }}
""")
        waiting = ["unshare", "-n", "sh", "-c", 'echo; read go; exec "$0" "$@"']
        self.child = Child(*waiting, program, "agent", "--config", str(folder / "httpdns.yaml"))
        self.child.read()
        pid = self.pid = self.child.process.pid
        for line in (
            f"ip link add out address 02:00:00:00:00:53 type veth peer name in address 02:00:00:00:00:01 netns {pid}",
            f"ip address add {SERVER}/24 dev out",
            "ip link set out up",
            f"nsenter -n -t {pid} ip address add {CLIENT}/24 dev in",
            f"nsenter -n -t {pid} ip link set in up",
        ):
            subprocess.run(line.split(), check=True)
        self.child.write("go")
        while "ready" not in self.child.read():
            pass
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))

    def ask(self, name):
        parameters = {"name": name, "family": socket.AF_INET}
        call = {"method": "io.systemd.Resolve.ResolveHostname", "parameters": parameters}
        self.socket.sendall(json.dumps(call).encode() + b"\0")
        reply = b""
        while not reply.endswith(b"\0"):
            part = self.socket.recv(65536)
            if not part:
                sys.exit("try-spoofing: the agent has closed its socket")
            reply += part
        addresses = json.loads(reply[:-1])["parameters"].get("addresses", [])
        return [socket.inet_ntoa(bytes(each["address"])) for each in addresses]

    def packets(self):
        """The packets that have arrived in the client's network."""
        counters = Path(f"/proc/{self.pid}/net/snmp").read_text().splitlines()
        names, values = [line.split() for line in counters if line.startswith("Ip:")]
        return int(dict(zip(names, values))["InReceives"])


class WeakResolver:
    """What the forger must be able to poison."""

    title = "weak resolver"

    def __init__(self, agent):
        self.child = Child("nsenter", "-n", "-t", str(agent.pid), sys.executable, __file__, "--weak-resolver")

    def ask(self, name):
        self.child.write(name)
        return [self.child.read()]

    @staticmethod
    def run():
        for number, line in enumerate(sys.stdin):
            question = wire(line.strip()) + b"\0\1\0\1"
            query = struct.pack(">HHHHHH", number & 0xFFFF, 0x0100, 1, 0, 0, 0) + question
            address = ""
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
                datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
                datagrams.settimeout(PATIENCE)
                datagrams.bind((CLIENT, WEAK_PORT))
                datagrams.sendto(query, (SERVER, 53))
                while not address:
                    message = datagrams.recv(4096)
                    if message[:2] == query[:2] and message[12 : 12 + len(question)].lower() == question:
                        address = socket.inet_ntoa(message[-4:])
            print(address, flush=True)


class Result:
    """The lookups of one attack."""

    def __init__(self, title, victim, server):
        self.title, self.victim, self.server = f"{title}, {victim.title}", victim, server
        self.lookups = self.right = self.poisoned = 0
        self.forged = ""
        self.faults = []

    def ask(self, name, expected=RIGHT):
        addresses = self.victim.ask(name)
        self.lookups += 1
        self.right += addresses == ([expected] if expected else [])
        self.poisoned += FORGED in addresses

    @property
    def streams(self):
        return self.server.asked["tcp"].total()

    def expect(self, holds, text):
        if not holds:
            self.faults.append(text)

    def report(self):
        counts = f"{self.lookups:,} lookups, {self.right:,} right, {self.poisoned:,} poisoned"
        faults = [f"  WRONG: {text}" for text in self.faults]
        print(f"{self.title}: {counts}, {self.streams:,} over TCP{self.forged}", *faults, sep="\n", flush=True)
        return not self.faults


class Attacks:
    def __init__(self, program, folder):
        self.forger = str(folder / "forger")
        compiler = next(filter(shutil.which, ("cc", "clang", "gcc")), "cc")
        subprocess.run([compiler, "-O2", "-o", self.forger, str(Path(__file__).with_name("forger.c"))], check=True)
        self.agent = Agent(program, folder)
        self.weak = WeakResolver(self.agent)
        self.server = NameServer()
        self.server.start()
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.identification = draw.randrange(1, 1 << 15)

    def start_forger(self, *mode, server=SERVER, port=53):
        return Child(self.forger, "out", CLIENT, server, str(port), *map(str, mode))

    def flood(self, seconds, victim):
        """Asks for name after name. For the weak resolver, whose port is known, one poisoned answer suffices."""
        self.server.reset(delay=0.1 if victim is self.agent else 1)
        result = Result("flood", victim, self.server)
        ports = (FIRST_PORT, LAST_PORT) if victim is self.agent else (WEAK_PORT, WEAK_PORT)
        forger = self.start_forger("flood", *ports)
        begun, arrived, asked = time.monotonic(), self.agent.packets(), 0.0
        while time.monotonic() < begun + seconds and (victim is self.agent or result.poisoned == 0):
            name = new_name()
            forger.write(name)
            start = time.monotonic()
            result.ask(name)
            asked += time.monotonic() - start
        sent, packets = map(int, forger.end().split())
        passed, arrived = time.monotonic() - begun, sent * min(1, (self.agent.packets() - arrived) / packets)
        share = asked / passed
        hits = arrived * share / (ports[1] - ports[0] + 1) / 65536
        result.forged = (
            f"; {sent:,} forged in {passed:.1f} s, {arrived / passed:,.0f} a second arrived, {share:.0%} during a"
            f" lookup, at most {hits:.2g} of them expected with the right port and ID"
        )
        if victim is self.agent:
            result.expect(result.poisoned == 0, "it was poisoned")
            result.expect(result.right == result.lookups, "not every lookup was answered")
        else:
            result.expect(result.poisoned > 0, "it must be poisoned: the forger does not work")
        return result

    def burst(self, title, lookups, victim, mode, **source):
        """Forges answers to each query while the server's own is held back, for a second and until all are sent."""
        self.server.reset(delay=1)
        result = Result(title, victim, self.server)
        forger = self.start_forger(mode, **source)
        forger.read()
        arrived = self.agent.packets()
        for _ in range(lookups):
            self.server.may_answer.clear()
            waiting = threading.Thread(target=lambda: forger.read() and self.server.may_answer.set())
            waiting.start()
            result.ask(new_name())
            waiting.join()
            if victim is self.weak and result.poisoned > 0:
                break
        arrived = self.agent.packets() - arrived
        result.forged = f"; {int(forger.end().split()[-2]):,} forged, {arrived:,} packets arrived"
        return result

    def port(self):
        for title, mode in (("port known, every ID", "guess"), ("port and ID known, lower case", "lower")):
            result = self.burst(title, 10, self.agent, mode)
            result.expect(result.poisoned == 0, "it was poisoned")
            result.expect(result.right == result.lookups, "not every lookup was answered")
            result.expect(len(self.server.asked["tcp"]) == result.lookups, "not every name was asked for over TCP")
            yield result
        # The kernel's queue holds a part of a burst, so the right ID may be lost.
        result = self.burst("port known, every ID", 50, self.weak, "guess")
        result.expect(result.poisoned > 0, "it must be poisoned: the forger does not work")
        yield result
        result = self.burst("everything known", 3, self.agent, "right")
        result.expect(result.poisoned == result.lookups, "it must be poisoned: the forger does not work")
        yield result

    def source(self):
        for title, source in (("port", {"port": 5353}), ("address", {"server": OTHER})):
            result = self.burst(f"wrong {title} of the server, every ID", 3, self.agent, "every", **source)
            result.expect(result.poisoned == 0, "it was poisoned")
            result.expect(result.right == result.lookups, "not every lookup was answered")
            result.expect(result.streams == 0, "not every lookup was answered over UDP")
            yield result

    def owners(self):
        """Has the server add records. Each other name must be asked for, and have its own address."""
        evil = record("evil.test", FORGED)
        for number in range(7):
            name, other = new_name(), new_name()
            own, alias = record(name, RIGHT), record(name, other, CNAME)
            zone, forged = record("spoof.test", other, NS), record(other, FORGED)
            both = [record(name, FORGED), forged]
            title, sections, expected = (
                ("another name's address first", ([forged, own], [], []), RIGHT),
                ("another name's address last", ([own, forged], [], []), RIGHT),
                ("another name's alias", ([record(other, "evil.test", CNAME), evil, own], [], []), RIGHT),
                ("authority and additional addresses", ([own], [zone, *both], both), RIGHT),
                ("additional addresses alone", ([], [zone], both), None),
                ("an alias whose address is additional", ([alias], [], both), None),
                # The address of an alias is the name's own, and must not be kept for the alias.
                ("an alias and its address", ([alias, record(other, CHAINED), evil], [], []), CHAINED),
            )[number]
            self.server.reset()
            self.server.sections = lambda asked: sections if asked == name else ([record(asked, RIGHT)], [], [])
            result = Result(f"answers with {title}", self.agent, self.server)
            result.ask(name, expected)
            result.ask(other)
            result.expect(self.server.asked["udp"][other] > 0, "the other name was not asked for")
            result.expect(result.poisoned == 0, "it was poisoned")
            result.expect(result.right == result.lookups, "a lookup had another result")
            yield result

    def fragment(self):
        # With four aliases it is longer than a query allows.
        for aliases in (1, 4):
            for victim, plants in ((self.agent, False), (self.agent, True), (self.weak, True)):
                self.server.reset()
                sizes = []
                result = Result("fragments", victim, self.server)
                for _ in range(3):
                    sizes.append(self.one_in_fragments(result, aliases, plants))
                parts = "the second part forged" if plants else "none forged"
                result.title += f": an answer of {sizes[0]:,} bytes, {parts}"
                if victim is self.weak:
                    result.expect(result.poisoned == result.lookups, "it must be poisoned: the forger does not work")
                else:
                    result.expect(result.poisoned == 0, "it was poisoned")
                    result.expect(result.right == result.lookups, "not every lookup was answered")
                yield result

    def one_in_fragments(self, result, aliases, plants):
        """Has the server send its answer in two parts. The second one ends the last record.

        The forger knows the server's answer and the identification of the IP packet, which it can learn by queries of
        its own. Nothing in the second part depends on port, ID and case.
        """
        self.identification += 1
        # All records have an even length, so that the sum of the second part is that of its 16-bit words.
        names = [new_name(23)] + [".".join([*draw.choices(LABELS, k=3), "aliases", "test"]) for _ in range(aliases)]
        records = [record(one, next, CNAME) for one, next in zip(names, names[1:])] + [record(names[-1], RIGHT)]
        self.server.sections = lambda _: (records, [], [])
        size = 12 + len(wire(names[0])) + 4 + len(b"".join(records))
        split = min(8 + size - 16, MTU - 20) // 8 * 8
        addresses = socket.inet_aton(SERVER) + socket.inet_aton(CLIENT)

        def send_part(part, offset, more):
            flags = offset // 8 | (0x2000 if more else 0)
            # The kernel fills in the checksum.
            head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(part), self.identification, flags, 64, 17, 0)
            self.raw.sendto(head + addresses + part, (CLIENT, 0))

        def send_parts(message, peer):
            datagram = bytearray(struct.pack(">HHHH", 53, peer[1], 8 + size, 0) + message)
            total = ones_sum(addresses + struct.pack(">HH", 17, 8 + size) + datagram)
            struct.pack_into(">H", datagram, 6, 0xFFFF - total)
            send_part(datagram[:split], 0, True)
            send_part(datagram[split:], split, False)

        self.server.send = send_parts
        if plants:
            end = bytearray(b"".join(records)[split - 8 - size :])
            before = ones_sum(end)
            end[-4:] = socket.inet_aton(FORGED)
            # A change of the time to live makes up for that of the address, and the checksum of UDP holds.
            lifetime = struct.unpack_from(">H", end, len(end) - 8)[0]
            struct.pack_into(">H", end, len(end) - 8, (lifetime + before - ones_sum(end)) % 0xFFFF)
            send_part(end, split, False)
        result.ask(names[0])
        return size


def ones_sum(data):
    """The sum of 16-bit words with end-around carry (RFC 1071)."""
    data = bytes(data) + bytes(len(data) % 2)
    return sum(struct.unpack(f">{len(data) // 2}H", data)) % 0xFFFF


def main():
    parser = argparse.ArgumentParser(description="Tries to poison the answers of `kind: dns`.")
    parser.add_argument("--for", dest="seconds", type=float, default=10, help="the seconds of the flood")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("program", help="resolve-test")
    options = parser.parse_args()
    if not options.inside:
        os.execvp("unshare", ["unshare", "-Urn", sys.executable, __file__, "--inside", *sys.argv[1:]])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="try-spoofing-"))
    # Before those of the children, which run first then.
    atexit.register(shutil.rmtree, folder)
    attacks = Attacks(os.path.abspath(options.program), folder)
    passed = [result.report() for result in attacks_in_order(attacks, options.seconds)]
    print("passed" if all(passed) else "FAILED")
    return 0 if all(passed) else 1


def attacks_in_order(attacks, seconds):
    yield attacks.flood(PATIENCE, attacks.weak)
    yield attacks.flood(seconds, attacks.agent)
    yield from attacks.port()
    yield from attacks.source()
    yield from attacks.owners()
    yield from attacks.fragment()


if __name__ == "__main__":
    if sys.argv[1:] == ["--weak-resolver"]:
        sys.exit(WeakResolver.run())
    sys.exit(main())
