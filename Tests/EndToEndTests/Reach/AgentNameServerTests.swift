// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO && CommandLine
import Foundation
import ServerRig
import Testing

@Suite(
    "The agent's name server",
    .enabled(if: BindMount.isPossible, "only root may have a network of its own"),
    .enabled(if: Command.find("/usr/bin/python3") != nil && ServerRig.isAvailable([.witnesses, .compiler]))
)
struct AgentNameServerTests {
    /// Two name servers, each with one address for every name, which write the questions down.
    private static let nameServers = #"""
        import socket, struct, sys, threading
        def serve(address, last):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((address, 53))
            while True:
                q, peer = s.recvfrom(4096)
                labels, at = [], 12
                while q[at]: labels.append(q[at + 1:at + 1 + q[at]].decode().lower()); at += q[at] + 1
                kind = struct.unpack(">H", q[at + 1:at + 3])[0]
                with open(sys.argv[1] + "/log", "a") as log: print(address, ".".join(labels), kind, file=log)
                head = q[:2] + struct.pack(">HHHHH", 0x8180, 1, 1 if kind == 1 else 0, 0, 0)
                record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + bytes([127, 0, 0, last]) if kind == 1 else b""
                s.sendto(head + q[12:at + 5] + record, peer)
        threads = [threading.Thread(target=serve, args=a) for a in (("127.0.0.53", 9), ("127.0.0.54", 7))]
        for thread in threads: thread.start()
        open(sys.argv[1] + "/servers", "w").close()
        """#

    /// Runs a script in a network of its own, whose resolv.conf names the agent at 127.0.0.1. Its files are in `$F`, and `$R` is
    /// resolve-test. Names below routed.test are known at 127.0.0.54, and all at 127.0.0.53.
    private func withAgent(
        _ settings: String = "dns: { listen: 127.0.0.1, forward: 127.0.0.53 }",
        files: [String: String] = [:],
        _ script: String
    ) async throws -> CommandResult {
        let folder = try TemporaryFolder()
        let file = """
            version: 1
            providers: { zone: { kind: dns, servers: 127.0.0.54, answer_scope: loopback } }
            routes: { "*.routed.test": { providers: [zone] } }
            mappings: { mapped.test: [127.0.0.4], mapped.signed.test: [127.0.0.4] }
            agent: { control: \(folder.path)/control, \(settings) }
            """
        for (name, text) in files.merging(
            ["httpdns.yaml": file, "servers.py": Self.nameServers],
            uniquingKeysWith: { $1 }
        ) {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/" + name))
        }
        let around = #"""
            F=$0; R=$1
            ip link set lo up
            echo 'nameserver 127.0.0.1' > "$F/resolv.conf"
            mount --bind "$F/resolv.conf" /etc/resolv.conf
            echo 'hosts: files dns' > "$F/nsswitch.conf"
            mount --bind "$F/nsswitch.conf" /etc/nsswitch.conf
            /usr/bin/python3 "$F/servers.py" "$F" & SERVERS=$!
            "$R" agent --config "$F/httpdns.yaml" > "$F/output" 2> "$F/errors" & AGENT=$!
            while ! [ -e "$F/servers" ] || ! grep -qs ready "$F/output"; do
                kill -0 $AGENT || { cat "$F/errors"; exit 99; }
                sleep 0.02
            done

            """# + script + #"""

                kill $SERVERS $AGENT; wait $AGENT
                cat "$F/errors" >&2
                """#
        var command = Command(
            "unshare",
            ["-mn", "bash", "-c", around, folder.path, try BuiltProduct.path("resolve-test")]
        )
        command.environment = UnpackedPackages.environment
        return try await command.run()
    }

    private static let lookup = """
        #include <arpa/inet.h>
        #include <netdb.h>
        #include <stdio.h>
        int main(int count, char **names) {
            for (int i = 1; i < count; i++) {
                struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *result;
                if (getaddrinfo(names[i], 0, &hints, &result) != 0) { puts("none"); continue; }
                puts(inet_ntoa(((struct sockaddr_in *)result->ai_addr)->sin_addr));
            }
        }
        """

    private static let program = """
        package main
        import ("fmt"; "net"; "os")
        func main() { for _, n := range os.Args[1:] { a, _ := net.LookupIP(n); fmt.Println(a[0]) } }
        """

    /// Programs that print an address for each name, as the shell calls them.
    private static let programs: [(name: String, isHere: Bool, script: String)] = [
        ("dig", true, #"look() { for n in "$@"; do dig +short "$n" A; done; }"#),
        (
            "glibc", true,
            #"look() { /usr/bin/python3 -c 'import socket, sys; [print(socket.getaddrinfo(n, 80)[0][4][0]) for n in sys.argv[1:]]' "$@"; }"#
        ),
        (
            "busybox", UnpackedPackages.path("bin/busybox") != nil,
            #"look() { for n in "$@"; do "\#(UnpackedPackages.folder)/bin/busybox" nslookup -type=a "$n" | sed -n '/^Name/,$s/^Address[^:]*: //p'; done; }"#
        ),
        (
            "musl", UnpackedPackages.musl != nil,
            #"""
            M="\#(UnpackedPackages.musl?.libraries ?? "")"
            cc -static -nostdinc -isystem "\#(UnpackedPackages.musl?.headers ?? "")" -nostdlib -o "$F/lookup" "$M/crt1.o" "$M/crti.o" \
                "$F/lookup.c" "$M/libc.a" "$(cc -print-libgcc-file-name)" "$M/crtn.o"
            look() { "$F/lookup" "$@"; }
            """#
        ),
        (
            "Go", Command.find("go") != nil,
            #"""
            (cd "$F" && CGO_ENABLED=0 GOCACHE="$F/cache" GOFLAGS=-mod=mod go build -o lookup main.go)
            look() { "$F/lookup" "$@"; }
            """#
        ),
    ]

    @Test(
        "A program asks the agent for its names, and through it others for other names",
        .timeLimit(.minutes(2)),
        arguments: programs.indices
    )
    func asks(_ index: Int) async throws {
        let (name, isHere, script) = Self.programs[index]
        // What cannot be downloaded is left out, as Scripts/install-dependencies says.
        guard isHere else { return }
        let result = try await withAgent(
            files: ["lookup.c": Self.lookup, "main.go": Self.program],
            """
            \(script)
            look mapped.test a.routed.test other.test
            sed 's/ 28$/ 1/' "$F/log" | sort -u; rm "$F/log"
            "$R" switch off --socket "$F/control" > "$F/switch"
            look mapped.test
            """
        )
        let log = "127.0.0.53 other.test 1\n127.0.0.54 a.routed.test 1\n"
        #expect(result.output == "127.0.0.4\n127.0.0.7\n127.0.0.9\n\(log)127.0.0.9\n", "\(name): \(result)")
    }

    @Test("A forwarder that the agent asks, and that asks it, costs two queries", .timeLimit(.minutes(1)))
    func loop() async throws {
        guard let program = UnpackedPackages.path("usr/sbin/dnsmasq") else { return }
        let result = try await withAgent(
            "dns: { listen: 127.0.0.1, forward: 127.0.0.2 }",
            """
            "\(program)" -k -C /dev/null -u root -p 53 -a 127.0.0.2 --bind-interfaces -R -h -S 127.0.0.1 --log-queries \\
                --log-facility="$F/dnsmasq" --pid-file= & FORWARDER=$!
            while ! grep -qs started "$F/dnsmasq"; do sleep 0.02; done
            dig +tries=1 +timeout=9 @127.0.0.2 other-name-with-many-letters.test A | grep -o 'status: [A-Z]*'
            grep -c 'query\\[A\\]' "$F/dnsmasq"; grep -c forwarded "$F/dnsmasq"
            dig +tries=1 +timeout=9 @127.0.0.1 second-name-with-many-letters.test A | grep -o 'status: [A-Z]*'
            grep -c 'query\\[A\\] second' -i "$F/dnsmasq"
            dig +short +tries=1 @127.0.0.2 mapped.test A
            kill $FORWARDER
            """
        )
        // The forwarder passes the returned query over, until it is sent again after 0.4 s.
        #expect(result.output == "status: SERVFAIL\n3\n2\nstatus: SERVFAIL\n1\n127.0.0.4\n", "\(result)")
    }

    @Test("A forwarder asks it for the names of a zone", .timeLimit(.minutes(1)))
    func conditional() async throws {
        guard let program = UnpackedPackages.path("usr/sbin/dnsmasq") else { return }
        let result = try await withAgent(
            "dns: { listen: 127.0.0.1:5353 }",
            """
            printf 'server=/mapped.test/127.0.0.1#5353\nserver=127.0.0.53\n' > "$F/dnsmasq.conf"
            "\(program)" -k -C "$F/dnsmasq.conf" -u root -p 53 -a 127.0.0.2 --bind-interfaces -R -h \
                --log-facility="$F/dnsmasq" --pid-file= & FORWARDER=$!
            while ! grep -qs started "$F/dnsmasq"; do sleep 0.02; done
            dig +short @127.0.0.2 mapped.test A; dig +short @127.0.0.2 other.test A
            dig @127.0.0.1 -p 5353 other.test A | grep -o 'status: [A-Z]*'
            kill $FORWARDER
            """
        )
        #expect(result.output == "127.0.0.4\n127.0.0.9\nstatus: REFUSED\n", "\(result)")
    }

    private static let zone = """
        $TTL 60
        @ SOA ns.signed.test. admin.signed.test. 1 3600 600 86400 5
          NS ns.signed.test.
        ns A 127.0.0.55
        www A 127.0.0.20

        """

    private static let authority = """
        options {
            directory "."; pid-file none; session-keyfile none; recursion no; dnssec-validation no;
            listen-on { 127.0.0.55; }; listen-on-v6 { none; };
        };
        controls { };
        zone "signed.test" { type primary; file "zone.signed"; };

        """

    private static let validator = """
        server:
            interface: 127.0.0.2
            username: ""
            chroot: ""
            pidfile: ""
            use-syslog: no
            directory: "."
            do-not-query-localhost: no
            local-zone: "test." nodefault
            trust-anchor-file: "anchor"
            module-config: "validator iterator"
            include: "insecure"
        forward-zone:
            name: "signed.test."
            forward-addr: 127.0.0.1

        """

    @Test(
        "For a validating unbound signed names are valid, and mapped ones bogus",
        .enabled(if: Command.find("dnssec-signzone") != nil),
        .timeLimit(.minutes(1))
    )
    func signed() async throws {
        guard let program = UnpackedPackages.path("usr/sbin/unbound") else { return }
        let result = try await withAgent(
            "dns: { listen: 127.0.0.1, forward: 127.0.0.55 }",
            files: ["zone": Self.zone, "named.conf": Self.authority, "unbound.conf": Self.validator],
            """
            cd "$F"; ip address add 127.0.0.55/8 dev lo
            KEY=$(dnssec-keygen -q -a ECDSAP256SHA256 -f KSK signed.test); dnssec-keygen -q -a ECDSAP256SHA256 signed.test > zsk
            dnssec-signzone -q -S -o signed.test -f zone.signed zone > signing 2>&1
            grep -h 'IN DNSKEY' "$KEY.key" > anchor
            named -g -c named.conf > named.log 2>&1 & AUTHORITY=$!
            while ! grep -qs running named.log; do sleep 0.02; done
            for insecure in '' 'domain-insecure: "mapped.signed.test"'; do
                echo "$insecure" > insecure
                "\(program)" -d -c unbound.conf > unbound.log 2>&1 & VALIDATOR=$!
                while ! grep -qs 'start of service' unbound.log; do kill -0 $VALIDATOR || { cat unbound.log; break; }; sleep 0.02; done
                for name in www mapped; do
                    dig @127.0.0.2 +adflag $name.signed.test A | grep -Eo 'status: [A-Z]*|flags: [a-z ]*;|127[.]0[.]0[.][0-9]*$' | tr '\\n' ' '; echo
                done
                kill $VALIDATOR; wait $VALIDATOR
            done
            kill $AUTHORITY
            """
        )
        let valid = "status: NOERROR flags: qr rd ra ad; 127.0.0.20 \n"
        let (bogus, insecure) = (
            "status: SERVFAIL flags: qr rd ra; \n", "status: NOERROR flags: qr rd ra; 127.0.0.4 \n"
        )
        #expect(result.output == valid + bogus + valid + insecure, "\(result)")
    }

    @Test("Its own addresses are not asked, and errors say what to do")
    func mistakes() async throws {
        let folder = try TemporaryFolder()
        func error(_ settings: String) async throws -> String {
            try Data("version: 1\nagent: { \(settings) }\n".utf8)
                .write(to: URL(fileURLWithPath: folder.path + "/httpdns.yaml"))
            let script = """
                ip link set lo up; "$1" agent --config "$0/httpdns.yaml" 2>&1; echo "$?"
                """
            let program = try BuiltProduct.path("resolve-test")
            return try await Command("unshare", ["-mn", "sh", "-c", script, folder.path, program]).run().output
                .replacing(folder.path + "/", with: "")
        }
        #expect(
            try await error("dns: { listen: 127.0.0.1, forward: [127.0.0.53, 127.0.0.1] }") == """
                resolve-test: agent.dns.forward names 127.0.0.1:53, on which the agent itself listens (name the servers that \
                know other names)
                2

                """
        )
        #expect(
            try await error("dns: { listen: 192.0.2.1 }") == """
                resolve-test: the name server cannot listen on 192.0.2.1:53: Cannot assign requested address (ports below \
                1024 need root or CAP_NET_BIND_SERVICE; another server may have the port)
                1

                """
        )
        #expect(
            try await error("dns: { listen: 0.0.0.0 }") == """
                resolve-test: httpdns.yaml:2:25: agent.dns.listen: "0.0.0.0" is every address of this machine (name each \
                address: a reply must come from the one that was asked)
                2

                """
        )
    }
}
#endif
