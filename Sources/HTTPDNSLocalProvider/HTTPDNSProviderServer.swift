// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if LocalProvider
internal import Foundation
internal import HTTPDNSCore
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle

/// A server that answers HTTP-DNS from a mappings file, as the public services and the vendors do.
///
/// It replaces a paid account in development, CI and staging. It supports RFC 8484 (`/dns-query`), the JSON DNS of Google
/// (`/resolve`), Cloudflare (`/dns-query`) and Alidns (`/alidns/resolve`; `/resolve` with an account), Alibaba's versions 2
/// (`/v2/d`) and 1 (`/{account}/d` and so on) with `/{account}/ss`, and Tencent's (`/d`, `/conf`). The file's part `serve` has
/// accounts, secrets and injected failures.
///
/// Signatures, their times and ciphers are checked strictly, by code that shares nothing with the clients of this package.
/// `Docs/Providers.md` has an example.
public final class HTTPDNSProviderServer: Sendable {
    private let configuration: Configuration
    private let certificate: ServerCertificate?
    private let core: ServiceCore
    private let file: FollowedFile?
    private let name: String
    private let ruleCount: Int
    private let answerScope: HTTPDNSAddressPolicy.Scope

    /// Reads the file and the certificate. The provider does not listen yet.
    /// - Throws: `HTTPDNSConfigurationFileError` when the file cannot be read or has mistakes; ``HTTPDNSProviderServerError`` when a
    ///   certificate or key cannot be used.
    public init(_ configuration: Configuration) throws {
        self.configuration = configuration
        let text: String
        switch configuration.source.kind {
        case .file(let path):
            let file = try FollowedFile(path)
            (text, name, self.file) = (try file.text(), path, file.isRepeatable ? file : nil)
        case .text(let given, let name): (text, self.name, file) = (given, name, nil)
        }
        let zone = try Self.zone(text, name: name)
        ruleCount = zone.ruleCount
        answerScope = zone.mostPrivateScope
        core = ServiceCore(zone, clock: configuration.clock)
        certificate = try configuration.tls.map { tls in
            switch tls.kind {
            case .generated(let names):
                let loopback = [HTTPDNSAddress(v4: 127, 0, 0, 1), HTTPDNSAddress("::1")].compactMap { $0 }
                let others = [configuration.address].filter { !loopback.contains($0) }
                return try ServerCertificate.generated(names: ["localhost"] + names, addresses: loopback + others)
            case .files(let certificate, let key):
                return try ServerCertificate(certificateFile: certificate, keyFile: key)
            }
        }
    }

    /// Replaces the mappings with those of another text: all of it or, if it has a mistake, none.
    /// - Throws: `HTTPDNSConfigurationFileError`.
    public func replace(with text: String) throws {
        core.replace(with: try Self.zone(text, name: name))
    }

    /// Listens and answers until the task is canceled.
    ///
    /// After the cancellation no new connections are accepted, and queries in flight have up to ``Configuration/drainLimit`` to
    /// complete. Call it once.
    /// - Parameter listening: A function that receives the listener as soon as queries are accepted.
    /// - Throws: ``HTTPDNSProviderServerError`` when the address and port cannot be listened on.
    public func run(listening: @escaping @Sendable (Listener) async -> Void = { _ in }) async throws {
        let application = try HTTPService.application(
            core,
            address: configuration.address,
            port: configuration.port,
            tls: certificate?.configuration,
            onQuery: configuration.onQuery
        ) { [self] address in
            await listening(listener(at: address))
        }
        var settings = ServiceGroupConfiguration(
            services: [.init(service: application)],
            logger: application.logger
        )
        settings.maximumGracefulShutdownDuration = configuration.drainLimit
        let group = ServiceGroup(configuration: settings)
        let watcher = file?.watcher { [self] bytes in
            let zone = try Self.zone(FollowedFile.text(bytes, name: name), name: name)
            return ConfigurationWatcher.Prepared { [self] in core.replace(with: zone) }
        } report: { [configuration] report in
            switch report {
            case .applied: configuration.onReload(nil)
            case .warning(let error): configuration.onReload(error)
            case .unchanged, .failed, .recovered, .polling: break
            }
        }
        watcher?.start()
        // Not a child task: a cancellation must drain the server, not cancel it.
        let service = Task.detached { try await group.run() }
        let outcome = await withTaskCancellationHandler {
            await service.result
        } onCancel: {
            Task { await group.triggerGracefulShutdown() }
        }
        await watcher?.end()
        do {
            try outcome.get()
        } catch is CancellationError {
            // Queries in flight for longer than the limit were canceled.
        } catch _ where Task.isCancelled {
            // The task was canceled before the server started.
        } catch let error as IOError {
            throw HTTPDNSProviderServerError(
                .cannotListen,
                "cannot listen on \(listener(at: nil).url): \(Self.reason(error))"
            )
        }
    }

    private static func reason(_ error: IOError) -> String {
        switch error.errnoCode {
        case EADDRINUSE: "another program listens there; give another port, or 0 for one that is free"
        case EADDRNOTAVAIL: "this machine does not have the address"
        case EACCES: "ports below 1024 are for root"
        default: "\(error)"
        }
    }

    /// Serves while `body` runs.
    /// - Parameter body: A function that receives the listener.
    /// - Returns: The result of `body`, once the server has ended.
    /// - Throws: The errors of ``run(listening:)`` and of `body`.
    public func serving<Result: Sendable>(
        _ body: @escaping @Sendable (Listener) async throws -> Result
    ) async throws -> Result {
        let (listeners, continuation) = AsyncStream.makeStream(of: Listener.self)
        let service = Task {
            defer { continuation.finish() }
            try await run { continuation.yield($0) }
        }
        return try await withTaskCancellationHandler {
            guard let listener = await listeners.first(where: { _ in true }) else {
                try await service.value
                throw CancellationError()
            }
            do {
                let result = try await body(listener)
                service.cancel()
                try await service.value
                return result
            } catch {
                service.cancel()
                _ = await service.result
                throw error
            }
        } onCancel: {
            service.cancel()
        }
    }

    private func listener(at address: SocketAddress?) -> Listener {
        let port = UInt16(clamping: address?.port ?? Int(configuration.port))
        let scheme = certificate == nil ? "http" : "https"
        return Listener(
            address: configuration.address,
            port: port,
            url: "\(scheme)://\(configuration.address.bracketed):\(port)",
            certificate: certificate?.text,
            ruleCount: ruleCount,
            answerScope: answerScope
        )
    }

    private static func zone(_ text: String, name: String) throws -> Zone {
        try Zone(try HTTPDNSConfigurationFile.settings(text, name: name))
    }
}
#else
/// Not available in this build: it needs the trait `LocalProvider` of the package swift-httpdns.
@available(*, unavailable, message: "HTTPDNSProviderServer needs the trait LocalProvider of the package swift-httpdns")
public final class HTTPDNSProviderServer: Sendable {
    // Without these members the compiler would report that they are missing, and not the trait.
    /// Not available in this build.
    public struct Configuration: Sendable {
        /// Not available in this build.
        public struct Source: Sendable {
            /// Not available in this build.
            public static func file(_ path: String) -> Source { Source() }

            /// Not available in this build.
            public static func text(_ text: String, name: String = "") -> Source { Source() }
        }

        /// Not available in this build.
        public init(_ source: Source) {}
    }

    /// Not available in this build.
    public init(_ configuration: Configuration) throws {}
}
#endif
