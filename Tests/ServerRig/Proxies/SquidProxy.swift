// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// squid as an HTTP proxy on a free port of 127.0.0.1, with names of its own.
public final class SquidProxy: Sendable {
    /// The login that the proxy accepts.
    public struct Login: Sendable {
        let user: String
        let password: String
        let isDigest: Bool

        /// Creates a login.
        /// - Parameter isDigest: Whether the proxy asks for Digest, and not for Basic.
        public init(user: String, password: String, isDigest: Bool = false) {
            self.user = user
            self.password = password
            self.isDigest = isDigest
        }
    }

    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess
    private let log: LogFile

    /// Starts the proxy.
    /// - Parameters:
    ///   - hosts: The names that it knows, and their addresses. It looks up no others.
    ///   - login: The required login; `nil`: none.
    ///   - rules: Lines before `http_access allow all`.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(hosts: [String: String] = [:], login: Login? = nil, rules: [String] = []) async throws {
        let folder = try GuardedProcess.newFolder()
        port = try GuardedProcess.reservePort()
        func write(_ name: String, _ text: String) throws {
            try FileDescriptor.write(text, to: "\(folder)/\(name)")
        }
        try write("hosts", hosts.map { "\($0.value) \($0.key)\n" }.joined())
        var lines = [
            "http_port 127.0.0.1:\(port)", "pid_filename none", "cache_log \(folder)/cache.log",
            "access_log stdio:\(folder)/access.log", "buffered_logs off", "logfile_rotate 0", "cache deny all",
            "cache_mem 8 MB", "coredump_dir \(folder)", "hosts_file \(folder)/hosts", "dns_nameservers 127.0.0.1",
            "dns_timeout 1 seconds", "shutdown_lifetime 0 seconds", "pinger_enable off", "visible_hostname squid.test",
        ]
        if let login, login.isDigest {
            // The file has the passwords themselves.
            try write("passwords", "\(login.user):\(login.password)\n")
            lines += [
                "auth_param digest program /usr/lib/squid/digest_file_auth \(folder)/passwords",
                "auth_param digest realm test", "acl known proxy_auth REQUIRED", "http_access deny !known",
            ]
        } else if let login {
            let hash = try await Command("openssl", ["passwd", "-apr1", login.password]).run().output
            try write("passwords", "\(login.user):\(hash)")
            lines += [
                "auth_param basic program /usr/lib/squid/basic_ncsa_auth \(folder)/passwords",
                "auth_param basic realm test", "acl known proxy_auth REQUIRED", "http_access deny !known",
            ]
        }
        lines += rules + ["http_access allow all"]
        // It does not stay root, and then cannot write to root's files. Debian's number for its user is 13.
        if getuid() == 0 {
            lines.append("cache_effective_user proxy")
            try checked("chown", chown(folder, 13, 13))
        }
        try write("squid.conf", lines.joined(separator: "\n") + "\n")
        // The service name also names its shared memory, so two instances need two names.
        process = try await GuardedProcess(
            "squid",
            ["-N", "-n", "t\(port)", "-f", "\(folder)/squid.conf"],
            folder: folder,
            port: port
        )
        log = LogFile(path: "\(folder)/access.log")
    }

    /// Returns the method and target of each completed request, such as `CONNECT one.test:443`. A tunnel is completed when it
    /// closes.
    public func requests() throws -> [String] {
        try log.lines(since: .beginning).compactMap { line in
            let words = line.split(separator: " ")
            // A connection without a request is `- error:transaction-end-before-headers`: it only checked whether the proxy is
            // running.
            guard words.count > 6, words[5] != "-" else { return nil }
            return "\(words[5]) \(words[6])"
        }
    }

    /// Waits until the proxy has completed the given number of requests.
    public func awaitRequests(_ count: Int) async throws -> [String] {
        let found = try await watch(log.path, within: .seconds(60)) { [self] in
            let requests = try self.requests()
            return requests.count >= count ? requests : nil
        }
        return try found ?? requests()
    }
}
