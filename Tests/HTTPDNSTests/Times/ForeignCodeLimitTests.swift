// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// The limit for a response head, and the code of others that a call runs.
struct ForeignCodeLimitTests {
    enum Code: CaseIterable, Sendable { case application, network, computed, hook, secondHead }

    @Sendable private static func hang() async throws {
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(200))
    }

    /// Runs a test with longer limits until its call came to the code of others: on a busy machine a short one may be
    /// over before.
    private func withLimits(_ first: Duration, _ test: (Duration) async throws -> Bool) async throws {
        for limit in [first, .seconds(5), .seconds(40)] {
            do {
                if try await test(limit) { return }
            } catch let error as HTTPDNSClientError where error.code == .timedOut && limit < .seconds(40) {
                continue
            }
        }
        Issue.record("no call came so far within its limit")
    }

    @Test("The limit for a response head covers the code of others", arguments: Code.allCases)
    func covered(_ code: Code) async throws {
        try await withLimits(.milliseconds(300)) { try await isCovered(code, limit: $0) }
    }

    private func isCovered(_ code: Code, limit: Duration) async throws -> Bool {
        let wire = ScriptedWire { request, number in
            let redirects = number == 0 && (code == .hook || code == .secondHead)
            return redirects ? .redirect(302, to: "/b", from: request) : .ok(from: request)
        }
        let hanging = Around.before { _ in try await Self.hang() }
        let rig = try Rig(wire: wire) {
            $0.timeouts.responseHead = limit
            switch code {
            case .application: $0.applicationInterceptors = [hanging]
            case .network: $0.networkInterceptors = [hanging]
            case .computed:
                $0.computedHeaders = { _ in
                    try await Self.hang()
                    return [:]
                }
            case .hook:
                $0.redirectHook = { _ in
                    try await Self.hang()
                    return .follow
                }
            case .secondHead:
                $0.computedHeaders = { request in
                    if request.url.hasSuffix("/b") { try await Self.hang() }
                    return [:]
                }
            }
        }
        let start = ContinuousClock.now
        let error = await clientError { try await rig.client.get("https://map.test/") }
        let elapsed = ContinuousClock.now - start
        if error?.code == .timedOut, error?.phase != .interceptor { return false }
        #expect(error?.code == .timedOut && error?.phase == .interceptor && error?.isCallDeadline == true)
        #expect(error?.limit == limit && error?.message.contains("no response head") == true)
        #expect(elapsed >= limit && elapsed < .seconds(200), "\(elapsed)")
        return true
    }

    /// The limit of the first hop passes between its response and the second hop.
    @Test("The limit for a response head covers each hop of a call with a longer limit")
    func laterHop() async throws {
        try await withLimits(.milliseconds(500)) { try await isLaterHopCovered(limit: $0) }
    }

    private func isLaterHopCovered(limit: Duration) async throws -> Bool {
        let wire = ScriptedWire(.redirect(302, to: "/b"))
        let rig = try Rig(wire: wire) {
            $0.timeouts.responseHead = limit
            $0.timeouts.total = .seconds(300)
            $0.networkInterceptors = [
                Around { request, context, next in
                    if request.url.hasSuffix("/b") { try await Self.hang() }
                    let response = try await next(request, context)
                    try await SystemTimeSource().sleep(until: SystemTimeSource().now() + limit * 2)
                    return response
                }
            ]
        }
        let start = ContinuousClock.now
        let error = await clientError { try await rig.client.get("https://map.test/") }
        let elapsed = ContinuousClock.now - start
        if error?.code == .timedOut, error?.phase != .interceptor || elapsed < limit * 2 { return false }
        #expect(error?.code == .timedOut && error?.phase == .interceptor && error?.limit == limit)
        #expect(elapsed < .seconds(280), "\(elapsed)")
        return true
    }

    @Test("An interceptor that reads a body after the head has the time of the whole call")
    func afterHead() async throws {
        try await withLimits(.milliseconds(100)) { limit in
            let rig = try Rig {
                $0.timeouts.responseHead = limit
                $0.applicationInterceptors = [
                    Around { request, context, next in
                        let response = try await next(request, context)
                        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + limit * 4)
                        return response
                    }
                ]
            }
            #expect(try await rig.client.get("https://map.test/").status == .ok)
            return true
        }
    }

    @Test("The sending of a body does not use the time of its interceptors")
    func upload() async throws {
        try await withLimits(.milliseconds(100)) { limit in
            let wire = ScriptedWire { request, _ in
                try await SystemTimeSource().sleep(until: SystemTimeSource().now() + limit * 4)
                return .ok(from: request)
            }
            let rig = try Rig(wire: wire) {
                $0.timeouts.responseHead = limit
                $0.networkInterceptors = [Around { request, context, next in try await next(request, context) }]
            }
            #expect(try await rig.client.post("https://map.test/", body: .text("x")).status == .ok)
            return true
        }
    }

    @Test("Interceptors of a call that was canceled before see that", arguments: [true, false])
    func canceledBefore(hasLimit: Bool) async throws {
        let seen = Journal<Bool>()
        let rig = try Rig {
            $0.timeouts.responseHead = hasLimit ? .seconds(600) : nil
            $0.networkInterceptors = [Around.before { _ in seen.write(Task.isCancelled) }]
        }
        let call = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await rig.client.get("https://map.test/")
        }
        _ = await call.result
        #expect(seen.all == [true])
    }

    @Test("A call without a limit of its own kind gives interceptors none")
    func unlimited() async throws {
        try await withLimits(.milliseconds(100)) { limit in
            let rig = try Rig {
                $0.timeouts.responseHead = limit
                $0.applicationInterceptors = [
                    Around.before { _ in
                        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + limit * 4)
                    }
                ]
            }
            #expect(try await rig.client.get("https://map.test/", { $0.timeouts.responseHead = nil }).status == .ok)
            return true
        }
    }
}
