// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import HTTPDNSPrimitives

/// A set of real servers: nginx as four origins and BIND as an HTTP-DNS provider, with a certificate authority of their own.
/// `Scripts/servers/start` starts them in a temporary folder.
///
/// Addresses: 127.0.0.2, .3, .4 and ::1 serve the names of the good certificate (`one.test`, `img.shop.test`, `*.wild.test` and
/// more). 127.0.0.5 is another owner's server, which always presents a certificate for `other.test`. The zone is
/// `Scripts/servers/test.zone`. Suites share the rig concurrently: a test that changes records or counts log lines uses a name
/// of its own, such as `pin-moves.wild.test`.
public final class ServerRig: Sendable {
    private struct Ready: Decodable {
        let tlsPort, http1Port, httpPort, dohPort, dnsPort, dotPort: UInt16
        let hasIPv6: Bool
        let nginxProcess, bindProcess: Int32
        let certificateAuthority, otherCertificateAuthority, accessLog, originLog, queryLog: String
    }

    private let ready: Ready
    let supervisor: Supervisor
    /// The folder of the rig; removed at its end.
    public let folder: String

    /// The port of the HTTPS origins that speak HTTP/2 and HTTP/1.1.
    public var tlsPort: UInt16 { ready.tlsPort }
    /// The port of the HTTPS origins that speak HTTP/1.1 only.
    public var http1Port: UInt16 { ready.http1Port }
    /// The port of the clear-text origins.
    public var httpPort: UInt16 { ready.httpPort }
    /// The port of BIND's DoH service on 127.0.0.1 (and ::1).
    public var dohPort: UInt16 { ready.dohPort }
    /// The port of BIND's plain DNS on 127.0.0.1.
    public var dnsPort: UInt16 { ready.dnsPort }
    /// The port of DNS over TLS, with the certificate of ``dohPort``.
    public var dotPort: UInt16 { ready.dotPort }
    /// The URL of the DoH service by name, usable with bootstrap address 127.0.0.1.
    public var dohURL: String { "https://doh.test:\(dohPort)/dns-query" }
    /// The URL of the DoH service by address literal.
    public var dohURLByAddress: String { "https://127.0.0.1:\(dohPort)/dns-query" }
    /// Whether ::1 can be used on this machine.
    public var hasIPv6: Bool { ready.hasIPv6 }
    /// The authority of every good certificate.
    public var certificateAuthorityFile: String { ready.certificateAuthority }
    /// An authority that signed `untrusted.test` only.
    public var otherCertificateAuthorityFile: String { ready.otherCertificateAuthority }
    /// Returns the path of a file of `Scripts/servers/make-certificates`, such as `tenant-a.key`.
    public func certificateFile(_ name: String) -> String { "\(folder)/certificates/\(name)" }
    /// Returns the path of an origin's file for a PUT to `/stored/name`.
    public func storedFile(_ name: String) -> String { "\(folder)/nginx/stored/\(name)" }
    /// The file behind ``accessLog(since:)``.
    public var accessLogFile: String { ready.accessLog }

    var requests: LogFile { LogFile(path: ready.accessLog) }
    var queries: LogFile { LogFile(path: ready.queryLog) }
    var origins: LogFile { LogFile(path: ready.originLog) }
    var bindProcess: Int32 { ready.bindProcess }
    var nginxProcess: Int32 { ready.nginxProcess }

    private init(ready: Ready, supervisor: Supervisor) {
        self.ready = ready
        self.supervisor = supervisor
        folder = supervisor.folder
    }

    /// Returns the rig that all suites of this process share: started at the first call, stopped at the process's end.
    /// - Throws: ``RigError`` with the log of the server that could not start; every later call throws the same.
    public static func shared() async throws -> ServerRig { try await sharedRig.value }

    private static let sharedRig = Task { try await start() }

    /// Starts a rig of the caller's own, for tests that stop or hold servers. It ends with ``stop()``, with its last reference,
    /// and with this process.
    /// - Parameter preferredTLSPort: The origins' port, if it is free.
    /// - Throws: ``RigError`` with the log of the server that could not start.
    public static func start(preferredTLSPort: UInt16? = nil) async throws -> ServerRig {
        let parts = [Part.nginx, .bind].filter { isRequired || $0.isInstalled }.map(\.rawValue)
        let supervisor = try Supervisor(parts: parts, tlsPort: preferredTLSPort)
        let ready = try await onBlockingThread { try supervisor.waitUntilReady(within: .seconds(180)) }
        return ServerRig(ready: try JSONDecoder().decode(Ready.self, from: Data(ready)), supervisor: supervisor)
    }

    /// Stops both servers and removes the folder. Returns when they have ended. Idempotent.
    public func stop() async throws {
        try await onBlockingThread { [supervisor] in supervisor.stop() }
    }
}
