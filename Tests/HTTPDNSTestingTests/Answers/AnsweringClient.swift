// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig

@testable import HTTPDNSTesting

/// An innermost interceptor that gives one answer to all requests, or one for each path.
struct Answering: HTTPDNSClient.Interceptor {
    let answer: @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer
    /// The requests that were answered.
    let requests = Journal<HTTPDNSClient.Request>()

    init(_ answer: HTTPDNSStubs.Answer) { self.answer = { _ in answer } }

    init(_ answer: @escaping @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer) { self.answer = answer }

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        requests.write(request)
        // It is called in this task alone, and not after this function.
        nonisolated(unsafe) let next = next
        return try await withoutActuallyEscaping(next) { send in
            try await answer(request).respond(HTTPDNSStubs.Answer.Use(request: request, context: context, send: send))
        }
    }
}

/// A client whose requests an interceptor answers. `one.test` is at a port of 127.0.0.2.
func answeringClient(
    _ interceptor: (any HTTPDNSClient.Interceptor)?,
    port: UInt16 = 9
) async throws -> HTTPDNSClient {
    var configuration = HTTPDNSClient.Configuration()
    configuration.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.2:\(port)"])]
    configuration.innermost = interceptor
    return try await HTTPDNSClient(configuration: configuration)
}

/// Runs `body` with a client that gives one answer, and shuts the client down.
func withAnswer<Value>(
    _ answer: HTTPDNSStubs.Answer,
    _ body: (HTTPDNSClient) async throws -> Value
) async throws -> Value {
    let client = try await answeringClient(Answering(answer))
    do {
        let value = try await body(client)
        try await client.shutdown()
        return value
    } catch {
        try? await client.shutdown()
        throw error
    }
}

/// An error of a test.
struct Planned: Error, Hashable {
    var number = 1
}

/// A clock that is at the deadline of a sleeper as soon as it sleeps: the times of one task are exact, and pass in no time.
final class JumpingClock: TimeSource {
    private let time = Lock(MonotonicTime(nanoseconds: 1_000_000_000_000))
    let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    /// The time that has passed.
    var elapsed: Duration { now() - start }

    func now() -> MonotonicTime { time.withLock { $0 } }

    func sleep(until deadline: MonotonicTime) async throws {
        try Task.checkCancellation()
        time.withLock { $0 = max($0, deadline) }
    }
}

extension HTTPDNSClient.Response {
    /// Reads the body, of at most 4 MiB, as text.
    @discardableResult
    func wholeText() async throws -> String {
        String(decoding: try await body.collect(upTo: .mebibytes(4)), as: UTF8.self)
    }
}
