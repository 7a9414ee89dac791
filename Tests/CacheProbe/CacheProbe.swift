// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNS
import HTTPDNSResponseCache

/// A program for tests of the response cache that need a process of their own.
///
/// - `write FOLDER`: checks all responses of the folder, prints `ready`, and stores responses until it is killed. It exits
///   with 3 when a response has wrong bytes.
/// - `check FOLDER`: checks all responses of the folder, prints `ready`, and ends.
/// - `large FOLDER BYTES`: stores a body of this length and reads it again from the cache, and prints by how many bytes the
///   peak of its memory grew.
/// - `hits FOLDER COUNT`: prints the nanoseconds of a hit of 1 KiB; with `-` as the folder in memory.
@main
struct CacheProbe {
    private static let parent = getppid()

    static func main() async throws {
        _ = parent
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { exit(64) }
        var settings = HTTPDNSClient.ResponseCache.Settings()
        settings.limit = arguments[1] == "large" ? .gibibytes(4) : .mebibytes(1)
        let cache: HTTPDNSClient.ResponseCache =
            if arguments[2] == "-" { .memory(settings) } else { try await .disk(arguments[2], settings) }
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = cache
        let number = arguments.count > 3 ? Int(arguments[3]) : nil
        configuration.networkInterceptors = [Origin(length: arguments[1] == "hits" ? 1024 : number)]
        let client = try await HTTPDNSClient(configuration: configuration)
        switch (arguments[1], number) {
        case ("hits", let count?): try await hits(client, count)
        case ("large", let length?): try await large(client, length)
        case ("write", nil):
            try await check(client, cache)
            try await write(client)
        case ("check", nil): try await check(client, cache)
        default: exit(64)
        }
    }

    private static func hits(_ client: HTTPDNSClient, _ count: Int) async throws {
        let url = "http://probe.test/1"
        for try await _ in try await client.get(url).body {}
        let clock = ContinuousClock()
        let time = try await clock.measure {
            for _ in 0..<count {
                let response = try await client.get(url)
                guard response.cacheSource == .hit, try await response.body.collect(upTo: .kibibytes(2)).count == 1024
                else {
                    exit(3)
                }
            }
        }
        print(Int(time / .nanoseconds(1)) / count)
    }

    private static func check(_ client: HTTPDNSClient, _ cache: HTTPDNSClient.ResponseCache) async throws {
        for stored in await cache.storedResponses {
            let response = try await client.get(stored.url)
            guard try await Origin.isRight(response, for: stored.url) else { exit(3) }
        }
        print("ready \(cache.entryCount) \(cache.byteCount.bytes)")
        fflush(nil)
    }

    private static func write(_ client: HTTPDNSClient) async throws {
        var number = Int.random(in: 0..<1_000_000)
        // A test that was stopped kills it no more.
        while getppid() == parent {
            number += 1
            let response = try await client.get("http://probe.test/\(number)")
            for try await _ in response.body {}
        }
    }

    private static func large(_ client: HTTPDNSClient, _ length: Int) async throws {
        // Code and buffers of the first use are not those of a long body.
        for try await _ in try await client.get("http://probe.test/first").body {}
        let before = peak()
        var sources: [String] = []
        for _ in 0..<2 {
            let url = "http://probe.test/1"
            let response = try await client.get(url)
            guard try await Origin.isRight(response, for: url) else { exit(3) }
            sources.append(response.cacheSource?.description ?? "-")
        }
        print("\(sources.joined(separator: " ")) \(peak() - before)")
    }

    /// The largest resident size of this process so far, in bytes. That of `getrusage` includes the parent's.
    private static func peak() -> Int {
        guard let file = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("VmHWM:") else { continue }
            return (text.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) * 1024
        }
        return 0
    }
}

/// A server in process, whose bodies follow from their URLs.
struct Origin: HTTPDNSClient.Interceptor {
    let length: Int?
    private static let chunk = 60_000

    func intercept(_ request: HTTPDNSClient.Request, context: HTTPDNSClient.InterceptionContext, next: Next)
        async throws
        -> HTTPDNSClient.Response
    {
        let number = Origin.number(of: request.url)
        var head = HTTPResponse(status: .ok)
        head.headerFields[.cacheControl] = "max-age=86400"
        let name = HTTPField.Name("x-body")
        let length = request.url.hasSuffix("/first") ? 500_000 : length ?? number * 7919 % 200_000
        if let name { head.headerFields[name] = "\(number) \(length)" }
        return HTTPDNSClient.Response(head: head, body: .stream(Chunks(number: number, length: length)))
    }

    private static func number(of url: String) -> Int { url.split(separator: "/").last.flatMap { Int($0) } ?? 0 }

    /// Whether the head is that of the URL, and the body that of the head.
    static func isRight(_ response: HTTPDNSClient.Response, for url: String) async throws -> Bool {
        guard let name = HTTPField.Name("x-body"), let field = response.headerFields[name] else { return false }
        let facts = field.split(separator: " ").compactMap { Int($0) }
        guard facts.count == 2, facts[0] == number(of: url) else { return false }
        var offset = 0
        for try await chunk in response.body {
            guard bytes(facts[0], offset, chunk.count) == chunk else { return false }
            offset += chunk.count
        }
        return offset == facts[1]
    }

    /// Returns bytes of a body: a pattern of 4,093 bytes, which is no divisor of any block.
    static func bytes(_ number: Int, _ offset: Int, _ count: Int) -> [UInt8] {
        let start = (offset + number) % pattern.count
        var bytes = Array(pattern[start...].prefix(count))
        while bytes.count < count { bytes += pattern.prefix(count - bytes.count) }
        return bytes
    }

    private static let pattern = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 5) }

    struct Chunks: AsyncSequence, Sendable {
        typealias Element = [UInt8]
        typealias Failure = any Error
        let number: Int
        let length: Int

        struct AsyncIterator: AsyncIteratorProtocol {
            let chunks: Chunks
            var offset = 0

            mutating func next() async throws -> [UInt8]? {
                let count = Swift.min(Origin.chunk, chunks.length - offset)
                guard count > 0 else { return nil }
                defer { offset += count }
                return Origin.bytes(chunks.number, offset, count)
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: self) }
    }
}
