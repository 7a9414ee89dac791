// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO && CommandLine
import Foundation
import HTTPDNS
import HTTPDNSCore
import HTTPDNSNIO
import HTTPDNSPrimitives
import ServerRig
import Testing

@Suite(
    "The agent for the programs of a machine",
    .enabled(if: ServerRig.hasProcessForItself, "its watchdog ends it when it does not reply within a second"),
    .enabled(if: BindMount.isPossible, "only root may mount")
)
struct ReachAgentTests {
    /// Runs a script beside an agent whose files are in `$F`. `$R` is resolve-test, and `in_namespace COMMAND` runs a command whose
    /// libnss-resolve asks the agent.
    private func withAgent(
        _ file: String,
        environment: [String: String] = [:],
        _ script: String
    ) async throws -> CommandResult {
        let folder = try TemporaryFolder()
        try Data("version: 1\n\(file.replacingOccurrences(of: "$F", with: folder.path))".utf8)
            .write(to: URL(fileURLWithPath: folder.path + "/httpdns.yaml"))
        let around = """
            F=$0; R=$1
            in_namespace() { "$R" --enter-namespace "$F" 0 "$@"; }
            grep -v localhost /etc/hosts > "$F/hosts"
            echo 'hosts: files resolve [!UNAVAIL=return] dns' > "$F/nsswitch.conf"
            "$R" agent --config "$F/httpdns.yaml" > "$F/output" 2> "$F/errors" &
            AGENT=$!
            while ! grep -qs ready "$F/output"; do
                kill -0 $AGENT || { cat "$F/errors"; exit 99; }
                sleep 0.02
            done
            \(script)
            kill $AGENT 2>/dev/null; wait $AGENT
            cat "$F/errors" >&2
            """
        var command = Command("sh", ["-c", around, folder.path, try BuiltProduct.path("resolve-test")])
        command.environment = NameServiceLibrary.environment.merging(environment) { $1 }
        return try await command.run()
    }

    private static let mappings = """
        mappings:
          one.test: [127.0.0.4]
          ported.test: ["127.0.0.5:8443"]
        agent:
          varlink: $F/socket
          control: $F/control

        """

    @Test(
        "Mapped names are answered, and the kill switch and unknown names go to DNS",
        .enabled(if: NameServiceLibrary.isUsable)
    )
    func switchedOff() async throws {
        let result = try await withAgent(
            Self.mappings,
            """
            look() { in_namespace getent ahosts $1 | sed -n 's/ .*//;1p' | grep . || echo none; }
            look one.test; look ported.test; look gone.invalid
            "$R" switch off --socket "$F/control" > "$F/switch"; look one.test
            "$R" switch on --socket "$F/control" > "$F/switch"; look one.test
            """
        )
        #expect(result.output == "127.0.0.4\nnone\nnone\nnone\n127.0.0.4\n", "\(result)")
        let note = "note: lookups have no port: only the proxy applies the mapping of ported.test\n"
        #expect(result.error.hasPrefix(note) && result.error.contains("switched off"), "\(result.error)")
    }

    /// The DNS of a network of its own, which has one address for every name, and the times of lookups in it.
    private static let measuring = #"""
        import os, signal, socket, subprocess, sys, threading, time
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.53", 53))
        def serve():
            while True:
                d, a = server.recvfrom(4096)
                i = 12
                while d[i]: i += d[i] + 1
                r = b"\xc0\x0c\0\1\0\1\0\0\0\x1e\0\4\x7f\0\0\x0a" if d[i + 2] == 1 else b""
                server.sendto(d[:2] + b"\x81\x80\0\1" + (b"\0\1" if r else b"\0\0") + b"\0\0\0\0" + d[12:i + 5] + r, a)
        threading.Thread(target=serve, daemon=True).start()
        worker, number = int(sys.argv[1]), int(sys.argv[2])
        longest = failed = 0; seen = []
        begin = time.monotonic(); sent = 0
        while time.monotonic() < begin + 6:
            if sent == 500: os.kill(worker, number)
            sent += 1
            at = time.monotonic()
            try:
                address = socket.getaddrinfo(["other.test", "one.test"][sent % 2], 80, 2, 1)[0][4][0]
                if sent % 2 and address not in seen: seen.append(address)
            except OSError: failed += 1
            longest = max(longest, time.monotonic() - at)
            time.sleep(max(0, begin + sent / 500 - time.monotonic()))
        print(failed, longest, sent, *seen)
        """#

    @Test(
        "A killed agent costs milliseconds, a stopped one seconds, then DNS answers",
        .enabled(if: NameServiceLibrary.isUsable && Command.find("/usr/bin/python3") != nil),
        .timeLimit(.minutes(1)),
        arguments: [(SIGKILL, 0.1), (SIGSTOP, 4)] as [(Int32, Double)]
    )
    func outage(_ number: Int32, _ longest: Double) async throws {
        let folder = try TemporaryFolder()
        try Data(Self.measuring.utf8).write(to: URL(fileURLWithPath: folder.path + "/measure.py"))
        let result = try await withAgent(
            Self.mappings,
            """
            printf 'nameserver 127.0.0.53\\noptions timeout:1 attempts:1\\n' > "$F/resolv.conf"
            in_namespace unshare -mn sh -c 'ip link set lo up; mount --bind "$0/resolv.conf" /etc/resolv.conf
                exec /usr/bin/python3 \(folder.path)/measure.py $1 \(number)' "$F" "$(pgrep -P $AGENT)"
            wait $AGENT; echo $?
            """
        )
        let words = result.output.split { $0 == " " || $0 == "\n" }
        try #require(words.count == 6, "\(result)")
        #expect(words[0] == "0" && words[3...] == ["127.0.0.4", "127.0.0.10", "1"], "\(result)")
        #expect(try #require(Double(words[1])) < longest && Int(words[2])! > 1_000, "\(result)")
        let reason = number == SIGKILL ? "signal 9 ended the agent" : "did not reply"
        #expect(result.error.contains(reason), "\(result.error)")
    }

    @Test(
        "An agent that cannot serve does not start, and says why",
        arguments: [
            ("mappings: { a.test: [127.0.0.1] }\n", "opens no listener"),
            ("agent: { varlink: $F/httpdns.yaml }\n", "exists and is not a socket"),
            ("agent: { proxy: { port: 1080 } }\n", "agent.proxy"),
            ("agent: { proxy: { port: 0, password: { env: P } } }\n", "agent.proxy.port"),
            ("agent: { varlink: $F/socket, dns: 1 }\n", "agent"),
        ] as [(String, String)]
    )
    func refuses(_ file: String, _ message: String) async throws {
        let result = try await withAgent(file, "exit 0")
        #expect(result.status == 99 && result.output.contains(message), "\(result)")
    }

    @Test(
        "systemd learns that the agent is ready, and that it is alive",
        .enabled(if: Command.find("/usr/bin/python3") != nil),
        arguments: ["varlink: $F/socket", "proxy: { port: 0, password: { env: P } }"],
        // A name in the file system, and one in the abstract name space.
        ["", "@"]
    )
    func notifies(_ listener: String, _ prefix: String) async throws {
        let folder = try TemporaryFolder()
        let port = try LoopbackSocket(backlog: 1)
        close(port.descriptor)
        let script = """
            import os, socket, subprocess, sys
            path = "\(prefix)" + sys.argv[1] + "/notify"
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(path.replace("@", "\\0")); s.settimeout(20)
            environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="2000000", P="p")
            agent = subprocess.Popen([sys.argv[2], "agent", "--config", sys.argv[1] + "/f.yaml"], env=environment)
            print(*[s.recv(100).decode() for _ in range(3)])
            agent.terminate(); print(agent.wait())
            """
        let text = "version: 1\nagent: { \(listener) }\n"
            .replacingOccurrences(of: "$F", with: folder.path).replacingOccurrences(
                of: "port: 0",
                with: "port: \(port.port)"
            )
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/f.yaml"))
        let program = try BuiltProduct.path("resolve-test")
        let result = try await Command("/usr/bin/python3", ["-c", script, folder.path, program]).run()
        #expect(result.output.hasSuffix("READY=1 WATCHDOG=1 WATCHDOG=1\n143\n"), "\(result)")
    }

    @Test("A socket that a process serves is left to it, and the error names the process")
    func inUse() async throws {
        let result = try await withAgent(
            Self.mappings,
            #""$R" agent --config "$F/httpdns.yaml"; echo $?; kill -0 $AGENT && pgrep -P $AGENT"#
        )
        let lines = result.output.split(separator: "\n")
        try #require(lines.count == 2, "\(result)")
        #expect(lines[0] == "2" && result.error.contains("process \(lines[1]) listens on"), "\(result)")
    }

    @Test(
        "The agent's proxy reaches nothing of the machine that is not mapped or allowed",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: ["http", "socks5h"]
    )
    func guarded(_ kind: String) async throws {
        let rig = try await ServerRig.shared()
        let port = try LoopbackSocket(backlog: 1)
        close(port.descriptor)
        let file = """
            mappings: { one.test: [127.0.0.4] }
            agent: { proxy: { port: \(port.port), password: { env: P }, allow: [127.0.0.3] } }

            """
        let script = """
            get() { curl -s --noproxy '' --max-time 20 -x "\(kind)://httpdns:$2@127.0.0.1:\(port.port)" -o "$F/body" \
                    -w '%{http_code} ' "$1"; echo $?; }
            get https://one.test:\(rig.tlsPort)/health secret
            get https://127.0.0.3:\(rig.tlsPort)/health secret
            get https://127.0.0.2:\(rig.tlsPort)/health secret
            get https://localhost:\(rig.tlsPort)/health secret
            get https://one.test:\(rig.tlsPort)/health wrong
            """
        let environment = ["P": "secret", "CURL_CA_BUNDLE": rig.certificateAuthorityFile]
        let result = try await withAgent(file, environment: environment, script)
        // The certificate, which is that of names, is seen through the tunnel.
        let (reached, refused) = ("000 60", kind == "http" ? "000 56" : "000 97")
        let lines = result.output.split(separator: "\n")
        #expect(
            lines.map(String.init) == ["200 0", reached, refused, refused, refused],
            "\(result)"
        )
    }

    @Test("An agent with many callers that wait for replies is not taken for one that hangs")
    func isFull() async throws {
        let script = """
            sleep 1.5  # The watchdog has asked once by then.
            /usr/bin/python3 - "$F/socket" <<'END'
            import socket, sys, time
            call = b'{"method":"io.systemd.Resolve.ResolveHostname","parameters":{"name":"one.test"}}\\0'
            idle = [socket.socket(socket.AF_UNIX) for _ in range(80)]
            for s in idle: s.connect(sys.argv[1])
            # One that reads no reply: what waits for it is bounded.
            idle[0].settimeout(0.5); sent = 0
            try:
                while sent < 1 << 23: sent += idle[0].send(call * 500)
            except OSError: pass
            time.sleep(2.5)
            print(sent < 1 << 23)
            END
            kill -0 $AGENT && echo alive
            """
        let result = try await withAgent(Self.mappings, script + "\nkill $AGENT; wait $AGENT; echo $?\n")
        #expect(result.output == "True\nalive\n143\n", "\(result)")
        #expect(result.error.hasPrefix("note: ") && !result.error.contains("did not reply"), "\(result)")
    }

    @Test(
        "After its providers the agent asks the name servers, and never itself",
        .enabled(if: NameServiceLibrary.isUsable && Command.find("/usr/bin/python3") != nil),
        .timeLimit(.minutes(1))
    )
    func fallsBack() async throws {
        let folder = try TemporaryFolder()
        try Data(Self.nameServer.utf8).write(to: URL(fileURLWithPath: folder.path + "/server.py"))
        let file = """
            version: 1
            providers: { p: { kind: dns, servers: "127.0.0.1:1" } }
            routes: { "*.corp.test": { providers: [p], fallback: system } }
            agent:
              varlink: "\(folder.path)/socket"
              control: "\(folder.path)/control"
              proxy: { port: 1080, password: { env: P }, allow: [127.0.0.0/8] }

            """
        try Data(file.utf8).write(to: URL(fileURLWithPath: folder.path + "/httpdns.yaml"))
        let script = """
            F=$0; R=$1
            ip link set lo up; echo 'nameserver 127.0.0.53' > "$F/resolv.conf"
            mount --bind "$F/resolv.conf" /etc/resolv.conf
            grep -v localhost /etc/hosts > "$F/hosts"; echo '127.0.0.4 here.corp.test' > "$F/own"
            echo 'hosts: files resolve [!UNAVAIL=return] dns' > "$F/nsswitch.conf"
            mount --bind "$F/own" /etc/hosts
            /usr/bin/python3 "$F/server.py" "$F/log" & SERVER=$!
            /usr/bin/python3 -m http.server --bind 127.0.0.4 --directory "$F" 8080 > "$F/web" 2>&1 & WEB=$!
            while ! [ -s "$F/log" ]; do sleep 0.02; done
            "$R" agent --config "$F/httpdns.yaml" > "$F/output" 2> "$F/errors" & AGENT=$!
            while ! grep -qs ready "$F/output"; do kill -0 $AGENT || { cat "$F/errors"; exit 99; }; sleep 0.02; done
            look() { "$R" --enter-namespace "$F" 0 /usr/bin/python3 -c 'import socket, sys
            try: print(socket.getaddrinfo(sys.argv[1], 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
            except OSError: print("none")' $1; }
            look a.corp.test; look gone.corp.test; sort "$F/log"
            # The hosts file has its part only where the agent decides nothing.
            get() { curl -s --max-time 20 --retry-connrefused --retry 3 -x socks5h://httpdns:p@127.0.0.1:1080 -o "$F/body" \
                    -w '%{http_code}\n' http://here.corp.test:8080/log; }
            "$R" switch off --socket "$F/control" > "$F/switch"; get
            kill $AGENT; wait $AGENT; kill $SERVER $WEB; grep -c here "$F/log"
            """
        var command = Command(
            "unshare",
            ["-mn", "sh", "-c", script, folder.path, try BuiltProduct.path("resolve-test")]
        )
        command.environment = NameServiceLibrary.environment.merging(["P": "p"]) { $1 }
        let result = try await command.run()
        #expect(
            result.output == "192.0.2.9\nnone\na.corp.test 1\ngone.corp.test 1\nready\n200\n0\n",
            "\(result)"
        )
    }

    /// Answers A below corp.test with 192.0.2.9 but for gone.corp.test, and writes each question to a file.
    private static let nameServer = #"""
        import socket, struct, sys
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.53", 53))
        log = open(sys.argv[1], "a", buffering=1); print("ready", file=log)
        while True:
            q, peer = s.recvfrom(4096)
            labels, at = [], 12
            while q[at]: labels.append(q[at + 1:at + 1 + q[at]].decode().lower()); at += q[at] + 1
            kind = struct.unpack(">H", q[at + 1:at + 3])[0]
            name = ".".join(labels); print(name, kind, file=log)
            known = name != "gone.corp.test"; has = known and kind == 1
            head = q[:2] + struct.pack(">HHHHH", 0x8180 if known else 0x8183, 1, 1 if has else 0, 0, 0)
            s.sendto(head + q[12:at + 5] + (b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\x09" if has else b""), peer)
        """#

    @Test("An agent that hangs from its first moment is ended", .timeLimit(.minutes(1)))
    func hangsAtOnce() async throws {
        let result = try await withAgent(Self.mappings, "kill -STOP $(pgrep -P $AGENT); wait $AGENT; echo $?")
        #expect(result.output == "1\n" && result.error.contains("did not reply"), "\(result)")
    }

    @Test("A signal to the agent's group ends it as one to itself, and leaves no socket", .timeLimit(.minutes(1)))
    func groupSignal() async throws {
        let script = """
            setsid "$R" agent --config "$F/second.yaml" > "$F/second" 2> "$F/errors2" & AGENT2=$!
            while ! grep -qs ready "$F/second"; do kill -0 $AGENT2 || break; sleep 0.02; done
            kill -TERM -$AGENT2; wait $AGENT2; echo $?; cat "$F/errors2"; [ -e "$F/socket2" ] || echo gone
            """
        let prepared = "sed 's,/socket,/socket2,; /control/d' \"$F/httpdns.yaml\" > \"$F/second.yaml\"\n"
        let result = try await withAgent("agent: { varlink: $F/socket }\n", prepared + script)
        #expect(result.output == "143\ngone\n", "\(result)")
    }

    @Test("A refused change of the file is told on standard error, and the agent serves on", .timeLimit(.minutes(1)))
    func tellsRefusedReload() async throws {
        let script = """
            cp "$F/httpdns.yaml" "$F/good"; printf 'version: 1\\nmappings: { one.test: 127.0.0.999 }\\n' > "$F/new"
            mv "$F/new" "$F/httpdns.yaml"
            while ! grep -qs 'configuration file refused' "$F/errors"; do kill -0 $AGENT || break; sleep 0.05; done
            kill -0 $AGENT && echo alive
            """
        let result = try await withAgent(Self.mappings, script)
        #expect(result.output == "alive\n" && result.error.contains("127.0.0.999"), "\(result)")
    }

    @Test(
        "The agent ends with its watching process, and leaves the socket to the next",
        .timeLimit(.minutes(2)),
        arguments: [false, true]
    )
    func endsWithParent(_ isIdle: Bool) async throws {
        // The system's request is one of a thread, and those of the start end when they are idle.
        let idle = """
            CHILD=$(pgrep -P $AGENT); BEGIN=$(ls /proc/$CHILD/task)
            ended() { for t in $BEGIN; do [ -e /proc/$CHILD/task/$t ] || return 0; done; return 1; }
            i=0; while ! ended; do sleep 0.1; i=$((i + 1)); [ $i -lt 600 ] || break; done
            """
        let script = """
            \(isIdle ? idle : "")
            kill -KILL $AGENT; wait $AGENT 2>/dev/null
            "$R" agent --config "$F/httpdns.yaml" > "$F/second" 2> "$F/errors2" & AGENT=$!
            i=0; while ! grep -qs ready "$F/second"; do
                # The first one may still hold the socket.
                kill -0 $AGENT 2>/dev/null || { "$R" agent --config "$F/httpdns.yaml" > "$F/second" 2> "$F/errors2" & AGENT=$!; }
                sleep 0.1; i=$((i + 1)); [ $i -lt 100 ] || break
            done
            cat "$F/second" | tail -1
            """
        let result = try await withAgent(Self.mappings, script)
        #expect(result.output == "ready\n", "\(result)")
    }

    @Test(
        "With Swift's threads blocked, known names are answered, and others in time",
        .enabled(if: Command.find("/usr/bin/python3") != nil),
        .timeLimit(.minutes(1))
    )
    func blockedPool() async throws {
        let folder = try TemporaryFolder()
        var configuration = HTTPDNSResolver.Configuration()
        configuration.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.4"])]
        configuration.providers = [Generated()]
        configuration.routes = [HTTPDNSRoute(try .init("*.wild.test"), .providers(["generated"], fallback: .off))]
        var settings = VarlinkListener.Configuration(path: folder.path + "/socket")
        settings.timeLimit = .milliseconds(500)
        let listener = try await VarlinkListener(HTTPDNSResolver(configuration), settings)
        let script = """
            import os, socket, sys, time
            folder = sys.argv[1]
            s = socket.socket(socket.AF_UNIX); s.connect(folder + "/socket")
            while not os.path.exists(folder + "/go"): time.sleep(0.01)
            for name in ["one.test", "n7.wild.test"]:
                begin = time.monotonic()
                call = '{"method":"io.systemd.Resolve.ResolveHostname","parameters":{"name":"%s"}}\\0' % name
                s.sendall(call.encode())
                reply = s.recv(4096)
                print(b"[127,0,0,4]" in reply, b'"error"' in reply, time.monotonic() - begin < 5)
            open(folder + "/done", "w")
            """
        let asking = Task { [path = folder.path] in
            try await Command("/usr/bin/python3", ["-c", script, path]).run()
        }
        let count = ProcessInfo.processInfo.activeProcessorCount
        let blocked = Monitor(0)
        for _ in 0..<count {
            Task.detached { [path = folder.path] in
                let isLast = blocked.change { number in
                    number += 1
                    return number == count
                }
                if isLast { _ = FileManager.default.createFile(atPath: path + "/go", contents: nil) }
                // A thread that sleeps is replaced by another one (libdispatch). The test may fail, and does not hang.
                let end = ContinuousClock.now + .seconds(10)
                while access(path + "/done", F_OK) != 0, ContinuousClock.now < end {}
            }
        }
        #expect(try await asking.value.output == "True False True\nFalse True True\n")
        await listener.shutdown()
    }

    @Test("The agent's own process is never answered: its lookups would ask themselves")
    func ownLookups() async throws {
        let folder = try TemporaryFolder()
        var configuration = HTTPDNSResolver.Configuration()
        configuration.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.4"])]
        let resolver = try HTTPDNSResolver(configuration)
        let path = folder.path + "/socket"
        let listener = try await VarlinkListener(resolver, .init(path: path))
        let descriptor = try UnixSocketAddress.newSocket(isBlocking: true)
        defer { close(descriptor) }
        try #require(UnixSocketAddress(path: path)).connect(descriptor)
        let call = #"{"method":"io.systemd.Resolve.ResolveHostname","parameters":{"name":"one.test"}}"#
        _ = write(descriptor, call, call.utf8.count + 1)
        var reply = [UInt8](repeating: 0, count: 4_096)
        let count = read(descriptor, &reply, reply.count)
        #expect(String(decoding: reply[..<max(0, count)], as: UTF8.self).contains("MethodNotImplemented"))
        #expect(listener.counters.notOurs == 1 && listener.counters.addresses == 0)
        await listener.shutdown()
        #expect(access(path, F_OK) != 0)
    }

    /// Answers each name `nNUMBER.wild.test` with as many addresses as its number says, or fails.
    private struct Generated: HTTPDNSProvider {
        let name = "generated"
        let answerScope = HTTPDNSAddressPolicy.Scope.loopback

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
            let digits = query.host.description.prefix { $0 != "." }.dropFirst()
            let number = (Int(digits) ?? 0) &* 2_654_435_761 >> 7
            if number % 997 == 0 { throw HTTPDNSProviderError(code: .unreachable, message: "no answer") }
            var addresses: [HTTPDNSAddress]? = number % 11 == 0 ? nil : []
            for index in 0..<(number % 23) { addresses?.append(HTTPDNSAddress(v4: 127, 0, 1, UInt8(index))) }
            for index in 0..<(number / 23 % 23) {
                addresses?.append(HTTPDNSAddress(family: .v6, high: 0xfd00 << 48, low: UInt64(index)))
            }
            return HTTPDNSProviderAnswer(addresses, timeToLive: .seconds(300), to: query)
        }
    }

    @Test(
        "libnss-resolve survives thousands of generated replies of every kind",
        .enabled(if: NameServiceLibrary.isUsable && Command.find("/usr/bin/python3") != nil),
        .timeLimit(.minutes(3))
    )
    func generated() async throws {
        let folder = try TemporaryFolder()
        for file in ["hosts", "nsswitch.conf"] {
            let text = file == "hosts" ? "" : "hosts: files resolve [!UNAVAIL=return]\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder.path)/\(file)"))
        }
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [Generated()]
        configuration.routes = [HTTPDNSRoute(try .init("*.wild.test"), .providers(["generated"], fallback: .off))]
        configuration.families = .both
        (configuration.timeLimit, configuration.attemptLimit) = (.seconds(60), .seconds(60))
        let resolver = try HTTPDNSResolver(configuration)
        var settings = VarlinkListener.Configuration(path: folder.path + "/socket")
        settings.timeLimit = .seconds(60)
        let listener = try await VarlinkListener(resolver, settings)
        let lookups = ServerRig.hasTime ? 25_000 : 5_000
        let script = """
            import socket, sys
            first, counts = int(sys.argv[1]), {}
            for i in range(first, first + \(lookups)):
                try: kind = min(len(socket.getaddrinfo(f'n{i % 20000}.wild.test', 80, (0, 2, 10)[i % 3], 1)), 1)
                except socket.gaierror as e: kind = e.errno
                counts[kind] = counts.get(kind, 0) + 1
            print(sum(counts.values()), sorted(counts))
            """
        let program = try BuiltProduct.path("resolve-test")
        try await withThrowingTaskGroup(of: CommandResult.self) { group in
            for part in 0..<4 {
                var command = Command(
                    program,
                    ["--enter-namespace", folder.path, "0", "/usr/bin/python3", "-c", script, "\(part * lookups)"]
                )
                command.environment = NameServiceLibrary.environment
                group.addTask { [command] in try await command.run() }
            }
            // EAI_AGAIN (-3) and EAI_NONAME (-2).
            for try await result in group {
                #expect(result.status == 0 && result.output == "\(lookups) [-3, -2, 1]\n", "\(result)")
            }
        }
        let counters = listener.counters
        let replies = counters.addresses + counters.noSuchName + counters.noAddress + counters.failed
        #expect(replies >= 4 * lookups && counters.refused == 0, "\(counters)")
        await listener.shutdown()
        await resolver.shutdown()
    }
}
#endif
