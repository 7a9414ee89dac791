// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// For all files of the module.
@_exported public import ClientRig
import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig

@testable import HTTPDNSResponseCache

/// A wall clock that a test moves.
final class TestTime: Sendable {
    private let milliseconds: Lock<Int64>

    /// - Parameter start: Seconds since 1970; by default Sun, 06 Nov 1994 08:49:37 GMT.
    init(start: Int64 = 784_111_777) { milliseconds = Lock(start * 1000) }

    var clock: WallClock { WallClock { self.milliseconds.withLock { $0 } } }

    func move(seconds: Int64) { milliseconds.withLock { $0 += seconds * 1000 } }
}

/// A response of a scripted origin.
struct Scripted: Sendable {
    var status: HTTPResponse.Status = .ok
    var fields: HTTPFields = [:]
    var chunks: [[UInt8]] = []
    var failure: TransferFailure?

    init(
        _ text: String = "",
        status: HTTPResponse.Status = .ok,
        _ fields: [String: String] = [:],
        failure: TransferFailure? = nil
    ) {
        self.status = status
        for (name, value) in fields {
            for line in value.split(separator: "|") {
                if let name = HTTPField.Name(name) { self.fields.append(HTTPField(name: name, value: String(line))) }
            }
        }
        chunks = text.isEmpty ? [] : [Array(text.utf8)]
        self.failure = failure
    }

    init(chunks: [[UInt8]], _ fields: [String: String]) {
        self.init("", fields)
        self.chunks = chunks
    }

    func answer(to request: TransferRequest) -> HopAnswer {
        .ok(from: request, status: status, fields: fields, chunks: chunks, endingWith: failure)
    }
}

extension ScriptedWire {
    /// Answers with these responses in turn, and with the last one from then on.
    convenience init(_ responses: [Scripted]) {
        self.init { request, number in responses[min(number, responses.count - 1)].answer(to: request) }
    }

    /// A wire that answers `v0`, `v1` and so on.
    static func numbered(_ fields: [String: String] = CachingTests.maxAge) -> ScriptedWire {
        ScriptedWire { request, number in Scripted("v\(number)", fields).answer(to: request) }
    }

    /// The same, and the response of one number waits for a gate.
    static func holding(
        _ held: Int,
        _ fields: [String: String] = CachingTests.maxAge
    ) -> (origin: ScriptedWire, arrived: Gate, gate: Gate) {
        let (arrived, gate) = (Gate(), Gate())
        let origin = ScriptedWire { request, number in
            if number == held {
                arrived.open()
                await gate.passage()
            }
            return Scripted("v\(number)", fields).answer(to: request)
        }
        return (origin, arrived, gate)
    }

    var count: Int { requests.count }
}

/// A client with a cache, on a scripted origin and clocks that a test moves.
struct CachedClient {
    let time: TestTime
    let clock = HTTPDNSManualClock()
    let origin: ScriptedWire
    let cache: HTTPDNSClient.ResponseCache
    let client: HTTPDNSClient
    static let url = "http://one.test/page"

    init(
        _ origin: ScriptedWire,
        folder: String? = nil,
        store: (any HTTPDNSResponseStore)? = nil,
        threads: HeldThreads? = nil,
        limit: Duration = .seconds(600),
        isFolderTaken: Bool = false,
        time: TestTime = TestTime(),
        _ change: (inout HTTPDNSClient.ResponseCache.Settings) -> Void = { _ in },
        client changeClient: (inout HTTPDNSClient.Configuration) -> Void = { _ in }
    ) async throws {
        self.origin = origin
        self.time = time
        var settings = HTTPDNSClient.ResponseCache.Settings()
        change(&settings)
        var times = FolderAccess.Times()
        // A machine that is busy is no folder or store that hangs.
        (times.limit, times.bodyPart, times.opening) = (limit, .seconds(600), .seconds(600))
        if let folder {
            let pool = threads?.pool() ?? FolderAccess.makePool()
            let opened = try await HTTPDNSClient.ResponseCache.disk(
                folder,
                settings,
                times,
                pool: pool,
                clock: time.clock,
                time: clock
            )
            // A thread may still have the last reference to the cache that had the folder before.
            if !isFolderTaken { try await opened.awaitFolder(clock) }
            cache = opened
        } else if let store {
            cache = HTTPDNSClient.ResponseCache(settings, store: (store, times), clock: time.clock, time: clock)
        } else {
            cache = HTTPDNSClient.ResponseCache(settings, clock: time.clock, time: clock)
        }
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = cache
        configuration.environment = { _ in nil }
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key("one.test"): .addresses(["203.0.113.1"]),
            try HTTPDNSMapping.Key("two.test"): .addresses(["203.0.113.2"]),
            try HTTPDNSMapping.Key("inside.test"): .addresses(["10.0.0.7"]),
        ]
        changeClient(&configuration)
        _ = cache.open(configuration.logger)
        client = HTTPDNSClient(
            configuration: configuration,
            resolver: try HTTPDNSResolver(configuration.resolver, isEnabled: true),
            sender: origin
        )
    }

    /// Sends a request and reads the whole body.
    func get(
        _ url: String = CachedClient.url,
        method: HTTPRequest.Method = .get,
        fields: [String: String] = [:],
        _ change: (inout HTTPDNSClient.Request) -> Void = { _ in }
    ) async throws -> Reply {
        var request = HTTPDNSClient.Request(method: method, url: url)
        for (name, value) in fields { if let name = HTTPField.Name(name) { request.headerFields[name] = value } }
        change(&request)
        let response = try await client.execute(request)
        let body = try await response.body.collect(upTo: .mebibytes(64))
        return Reply(
            status: response.status.code,
            source: response.cacheSource,
            body: String(decoding: body, as: UTF8.self),
            fields: response.headerFields
        )
    }
}

typealias StoredResponse = HTTPDNSClient.ResponseCache.StoredResponse

extension ResponseStore {
    /// Returns the writer of a response.
    func writer(for head: StoredHead) -> StoredBodyWriter { StoredBodyWriter(head, self, nil) }
}

extension HTTPDNSClient.ResponseCache {
    /// The store of a cache in memory or in a folder.
    var own: ResponseStore { store as! ResponseStore }

    /// Waits until the folder is in use.
    func awaitFolder(_ clock: HTTPDNSManualClock) async throws {
        try await until {
            if self.own.folder != nil { return true }
            clock.advance(by: .seconds(30))
            return false
        }
    }
}

/// A response with its text.
struct Reply: Sendable {
    let status: Int
    let source: HTTPDNSClient.CacheSource?
    let body: String
    let fields: HTTPFields
}

/// Whether the sources and bodies of replies are these, such as `miss one`.
func texts(_ replies: [Reply]) -> [String] { replies.map { "\($0.source?.description ?? "-") \($0.body)" } }
