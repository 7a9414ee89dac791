// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Apache on a free port of 127.0.0.1, in clear text, with folders that need a login: `/digest` (mod_auth_digest: MD5,
/// `auth`) and `/basic`. `/open` needs none.
public final class ApacheServer: Sendable {
    /// The realm of both folders.
    public static let realm = "rig"

    /// The port, on 127.0.0.1.
    public let port: UInt16
    private let process: GuardedProcess
    private let log: LogFile

    /// Starts the server.
    /// - Parameters:
    ///   - user: The user that it knows.
    ///   - password: The user's password.
    ///   - port: The port; 0 chooses a free one. A server that follows another one on its port accepts no nonce of it, and
    ///     calls them stale.
    ///   - nonceLifetime: The lifetime of a nonce in seconds (AuthDigestNonceLifetime). Near its end, responses have the next
    ///     nonce.
    /// - Throws: ``RigError`` with its output, when it does not start.
    public init(user: String, password: String, port: UInt16 = 0, nonceLifetime: Int = 300) async throws {
        let folder = try GuardedProcess.newFolder()
        self.port = port == 0 ? try GuardedProcess.reservePort() : port
        let realm = ApacheServer.realm
        let digest = try await ApacheServer.openSSL(["md5"], input: "\(user):\(realm):\(password)", in: folder)
        let hash = try await Command("openssl", ["passwd", "-apr1", password]).run().output
        try FileDescriptor.write("\(user):\(realm):\(digest)\n", to: "\(folder)/digest.users")
        try FileDescriptor.write("\(user):\(hash)", to: "\(folder)/basic.users")
        for name in ["htdocs", "htdocs/digest", "htdocs/basic"] {
            try checked("mkdir \(name)", mkdir("\(folder)/\(name)", 0o755))
        }
        for name in ["open", "digest/a", "digest/b", "basic/a", "basic/b"] {
            try FileDescriptor.write("apache\n", to: "\(folder)/htdocs/\(name)")
        }
        var lines = [
            "ServerName rig.test", "ServerRoot \(folder)", "DefaultRuntimeDir \(folder)", "PidFile \(folder)/pid",
            "Listen 127.0.0.1:\(self.port)", "ErrorLog \(folder)/error.log", "Mutex file:\(folder)",
        ]
        lines += [
            "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest",
        ].map { "LoadModule \($0)_module \(ApacheServer.modules)/mod_\($0).so" }
        // mod_log_config is a part of Debian's program. `%u` would be the user also of a refused request.
        lines += [
            "LogFormat \"%>s %U\" rig", "CustomLog \(folder)/access.log rig", "DocumentRoot \(folder)/htdocs",
            "<Location /digest>", "AuthType Digest", "AuthName \(realm)", "AuthDigestProvider file",
            "AuthUserFile \(folder)/digest.users", "AuthDigestNonceLifetime \(nonceLifetime)", "Require valid-user",
            "</Location>", "<Location /basic>", "AuthType Basic", "AuthName \(realm)", "AuthBasicProvider file",
            "AuthUserFile \(folder)/basic.users", "Require valid-user", "</Location>",
        ]
        // It does not stay root. Debian's number for its user is 33, which reads the files, and writes none.
        if getuid() == 0 { lines += ["User www-data", "Group www-data"] }
        try FileDescriptor.write(lines.joined(separator: "\n") + "\n", to: "\(folder)/httpd.conf")
        process = try await GuardedProcess(
            "apache2",
            ["-d", folder, "-f", "\(folder)/httpd.conf", "-DFOREGROUND"],
            folder: folder,
            port: self.port
        )
        log = LogFile(path: "\(folder)/access.log")
    }

    static let modules = "/usr/lib/apache2/modules"

    private static func openSSL(_ arguments: [String], input: String, in folder: String) async throws -> String {
        try FileDescriptor.write(input, to: "\(folder)/input")
        let output = try await Command("openssl", arguments + ["\(folder)/input"]).run().output
        // `MD5(path)= digits`
        guard let digits = output.split(whereSeparator: { $0 == " " || $0 == "\n" }).last else {
            throw RigError("openssl has no digest: \(output)")
        }
        return String(digits)
    }

    /// Ends the server, and returns when its port is free.
    public func stop() async throws { try await process.stop(freeing: port) }

    /// Waits until the server has logged the given number of responses.
    /// - Returns: The status and the path of each, such as `401 /digest/a`.
    public func awaitResponses(_ count: Int) async throws -> [String] {
        let found = try await watch(log.path, within: .seconds(60)) { [log] in
            let lines = try log.lines(since: .beginning).map(String.init)
            return lines.count >= count ? lines : nil
        }
        return try found ?? log.lines(since: .beginning).map(String.init)
    }
}
