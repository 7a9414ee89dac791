// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A name server of another make on a free port of 127.0.0.1, which knows the zone `lab`.
public final class NameServer: Sendable {
    /// Its make. dnsdist stands before a knot.
    public enum Make: String, Sendable, CaseIterable {
        case unbound, dnsmasq, knot, dnsdist

        private var program: String {
            switch self {
            case .unbound: "usr/sbin/unbound"
            case .dnsmasq: "usr/sbin/dnsmasq"
            case .knot: "usr/sbin/knotd"
            case .dnsdist: "usr/bin/dnsdist"
            }
        }

        /// The path of the program; nil where its package could not be unpacked.
        public var path: String? { UnpackedPackages.path(program) }
    }

    /// The zone; dnsmasq has it as options.
    private static let zone = """
        $ORIGIN lab.
        $TTL 60
        @ IN SOA ns.lab. admin.lab. 1 3600 600 86400 5
        @ IN NS ns.lab.
        ns IN A 127.0.0.1
        two IN A 127.0.0.3
        dual IN A 127.0.0.2
        dual IN AAAA ::1
        v6only IN AAAA ::1
        alias IN CNAME two
        nodata IN TXT "no address here"
        _http._tcp IN SRV 10 5 8443 two

        """ + (1...100).map { "large IN A 127.1.1.\($0)\n" }.joined()

    /// Its port, for UDP and TCP.
    public let port: UInt16
    private let process: GuardedProcess
    private let behind: NameServer?

    /// Starts the server.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(_ make: Make) async throws {
        guard let path = make.path else {
            throw RigError("\(make) is not unpacked: Scripts/install-dependencies --tests")
        }
        let folder = try GuardedProcess.newFolder()
        port = try GuardedProcess.reservePort()
        try FileDescriptor.write(Self.zone, to: "\(folder)/lab.zone")
        behind = make == .dnsdist ? try await NameServer(.knot) : nil
        let file = "\(folder)/settings"
        let arguments: [String]
        switch make {
        case .unbound:
            try FileDescriptor.write(
                """
                server:
                    interface: 127.0.0.1
                    port: \(port)
                    username: ""
                    chroot: ""
                    pidfile: ""
                    use-syslog: no
                    directory: "\(folder)"
                    access-control: 127.0.0.0/8 allow
                auth-zone:
                    name: "lab."
                    zonefile: "\(folder)/lab.zone"
                    for-upstream: no
                    fallback-enabled: no

                """,
                to: file
            )
            arguments = ["-d", "-c", file]
        case .dnsmasq:
            let hosts =
                ["two.lab,127.0.0.3", "dual.lab,127.0.0.2", "dual.lab,::1", "v6only.lab,::1"]
                + (1...100).map { "large.lab,127.1.1.\($0)" }
            arguments =
                [
                    "-k", "-C", "/dev/null", "-u", "root", "-p", "\(port)", "-a", "127.0.0.1", "--bind-interfaces",
                    "-R", "-h",
                    "--pid-file=", "--local-ttl=60", "--local=/lab/", "--cname=alias.lab,two.lab",
                    "--txt-record=nodata.lab,no address here", "--srv-host=_http._tcp.lab,two.lab,8443,10,5",
                ] + hosts.map { "--host-record=\($0)" }
        case .knot:
            try FileDescriptor.write(
                """
                server:
                  listen: 127.0.0.1@\(port)
                  rundir: \(folder)
                database:
                  storage: \(folder)
                zone:
                  - domain: lab
                    file: \(folder)/lab.zone

                """,
                to: file
            )
            arguments = ["-c", file]
        case .dnsdist:
            try FileDescriptor.write(
                """
                setLocal("127.0.0.1:\(port)")
                newServer({ address = "127.0.0.1:\(behind?.port ?? 0)", checkName = "ns.lab.", checkType = "A" })

                """,
                to: file
            )
            arguments = ["--supervised", "--disable-syslog", "-C", file]
        }
        process = try await GuardedProcess(
            path,
            arguments,
            folder: folder,
            port: port,
            environment: UnpackedPackages.environment
        )
    }
}
