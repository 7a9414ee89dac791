// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The parts of resolv.conf(5) that are followed: the servers, more than three of them, the search list, and `options use-vc` and
/// `ndots`.
struct ResolvConf: Hashable, Sendable {
    /// With port 53.
    var servers: [HTTPDNSEndpoint] = []
    var usesTCP = false
    /// The zones of the last `search` or `domain`.
    var zones: [HTTPDNSName] = []
    /// The number of dots from which a name is looked up as it is first.
    var dots = 1

    /// As glibc: more are as many.
    private static let maximumDots = 15

    /// Reads a file. What is no server and no known option is passed over, as by glibc; without a server it is the local one.
    init(_ bytes: [UInt8]) {
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") }) {
            // A comment's first word is none of these.
            let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
                .map { String(decoding: $0, as: UTF8.self) }
            guard let keyword = words.first, words.count > 1 else { continue }
            switch keyword {
            case "options":
                if words.contains("use-vc") { usesTCP = true }
                let counts = words.filter { $0.hasPrefix("ndots:") }.compactMap { Int($0.dropFirst(6)) }
                if let count = counts.last, count >= 0 { dots = min(count, Self.maximumDots) }
            case "search": zones = words.dropFirst().compactMap { try? HTTPDNSName($0) }
            case "domain": zones = words[1..<2].compactMap { try? HTTPDNSName($0) }
            default: break
            }
            guard keyword == "nameserver", let address = HTTPDNSAddress(words[1]) else { continue }
            let server = HTTPDNSEndpoint(address: address, port: 53)
            if !servers.contains(server) { servers.append(server) }
        }
        if servers.isEmpty { servers = [HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 53)] }
    }
}

/// The servers of a provider, from its settings or from a file that is read again.
final class NameServerList: Sendable {
    struct Current: Sendable {
        var addresses: UpstreamAddresses
        var file = ResolvConf([])
    }

    private enum Source: Sendable {
        case fixed(Current)
        case file(String)
    }

    private struct State: Sendable {
        var current: Current?
        var nextRead: MonotonicTime?
    }

    /// The least time between two reads.
    static let interval = Duration.seconds(1)
    private static let maximumBytes = 65_536
    /// The time that a query waits for a read when the servers of before are known.
    private static let patience = Duration.milliseconds(100)

    private let source: Source
    private let port: UInt16
    private let excluded: [HTTPDNSEndpoint]
    private let time: any TimeSource
    private let reads = SharedRead<ResolvConf>()
    private let state = Lock(State())

    /// - Parameters:
    ///   - port: The port of the servers of a file.
    ///   - excluded: Servers of a file that are not asked.
    init(
        _ servers: HTTPDNSDNSProvider.Servers,
        port: UInt16 = HTTPDNSDNSProvider.port,
        excluding excluded: [HTTPDNSEndpoint] = [],
        time: any TimeSource
    ) {
        (self.port, self.excluded) = (port, excluded)
        self.time = time
        source =
            switch servers {
            case .addresses(let endpoints): .fixed(Current(addresses: Self.addresses(endpoints, time)))
            case .file(let path): .file(path)
            }
    }

    /// Returns the servers of a query. A file that cannot be read leaves those of before in use.
    /// - Throws: ``HTTPDNSProviderError`` when there are none; `CancellationError`.
    func current(until deadline: MonotonicTime) async throws -> Current {
        let path: String
        switch source {
        case .fixed(let current): return current
        case .file(let file): path = file
        }
        let now = time.now()
        let (known, isDue) = state.withLock { state in
            let isDue = state.nextRead.map { $0 <= now } ?? true
            if isDue { state.nextRead = now + Self.interval }
            return (state.current, isDue)
        }
        if let known, !isDue { return known }
        do {
            let end = known == nil ? deadline : min(deadline, now + Self.patience)
            let file = try await reads.value(until: end, on: time) {
                ResolvConf(try SmallFile.read(path, maximum: Self.maximumBytes, isSecret: false))
            }.value
            let servers = file.servers.map { HTTPDNSEndpoint(address: $0.address, port: port) }
                .filter { !excluded.contains($0) }
            guard !servers.isEmpty else {
                throw HTTPDNSProviderError(
                    code: .notConfigured,
                    message: "\(path.escaped(limit: 200)) names no server but this process itself; name others"
                )
            }
            return state.withLock { state in
                if let current = state.current, current.file == file { return current }
                let current = Current(addresses: Self.addresses(servers, time), file: file)
                state.current = current
                return current
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            guard let known else {
                state.withLock { $0.nextRead = nil }
                throw Self.unreadable(path, error)
            }
            return known
        }
    }

    private static func addresses(_ endpoints: [HTTPDNSEndpoint], _ time: any TimeSource) -> UpstreamAddresses {
        UpstreamAddresses(
            bootstrap: endpoints,
            maximumAttempts: endpoints.count,
            scope: .public,
            time: time,
            wallClock: .system
        )
    }

    private static func unreadable(_ path: String, _ error: any Error) -> HTTPDNSProviderError {
        if let error = error as? HTTPDNSProviderError { return error }
        let reason = (error as? SmallFile.Unreadable)?.reason ?? "\(error)"
        return HTTPDNSProviderError(
            code: .notConfigured,
            message: "the name servers in \(path.escaped(limit: 200)) cannot be read: \(reason)"
        )
    }
}
