// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// The limit for a response head, and the code of others that a call runs.
@Suite("Time limits of interceptors and hooks", .timeLimit(.minutes(10)))
struct ForeignCodeLimitTests {
    enum Code: CaseIterable, Sendable { case application, network, computed, hook, secondHead }

    @Sendable private static func hang() async throws {
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(90))
    }

    @Test("The limit for a response head covers the code of others", arguments: Code.allCases)
    func covered(_ code: Code) async throws {
        let wire = ScriptedWire { request, number in
            let redirects = number == 0 && (code == .hook || code == .secondHead)
            return redirects ? .redirect(302, to: "/b", from: request) : .ok(from: request)
        }
        let hanging = Around { request, context, next in
            try await Self.hang()
            return try await next(request, context)
        }
        let rig = try Rig(wire: wire) {
            $0.timeouts.responseHead = .milliseconds(300)
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
        #expect(error?.code == .timedOut && error?.phase == .interceptor && error?.isCallDeadline == true)
        #expect(error?.limit == .milliseconds(300) && error?.message.contains("no response head") == true)
        #expect(elapsed >= .milliseconds(300) && elapsed < .seconds(60), "\(elapsed)")
    }

    /// The limit of the first hop passes between its response and the second hop.
    @Test("The limit for a response head covers each hop of a call with a longer limit")
    func laterHop() async throws {
        let wire = ScriptedWire { request, number in
            number == 0 ? .redirect(302, to: "/b", from: request) : .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.timeouts.responseHead = .milliseconds(500)
            $0.timeouts.total = .seconds(80)
            $0.networkInterceptors = [
                Around { request, context, next in
                    if request.url.hasSuffix("/b") { try await Self.hang() }
                    let response = try await next(request, context)
                    try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .seconds(1))
                    return response
                }
            ]
        }
        let start = ContinuousClock.now
        let error = await clientError { try await rig.client.get("https://map.test/") }
        let elapsed = ContinuousClock.now - start
        #expect(error?.code == .timedOut && error?.phase == .interceptor && error?.limit == .milliseconds(500))
        #expect(elapsed >= .milliseconds(1500) && elapsed < .seconds(60), "\(elapsed)")
    }

    @Test("An interceptor that reads a body after the head has the time of the whole call")
    func afterHead() async throws {
        let rig = try Rig {
            $0.timeouts.responseHead = .milliseconds(100)
            $0.applicationInterceptors = [
                Around { request, context, next in
                    let response = try await next(request, context)
                    try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(400))
                    return response
                }
            ]
        }
        #expect(try await rig.client.get("https://map.test/").status == .ok)
    }

    @Test("The sending of a body does not use the time of its interceptors")
    func upload() async throws {
        let wire = ScriptedWire { request, _ in
            try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(400))
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.timeouts.responseHead = .milliseconds(100)
            $0.networkInterceptors = [Around { request, context, next in try await next(request, context) }]
        }
        #expect(try await rig.client.post("https://map.test/", body: .text("x")).status == .ok)
    }

    @Test("A call without a limit of its own kind gives interceptors none")
    func unlimited() async throws {
        let rig = try Rig {
            $0.timeouts.responseHead = .milliseconds(100)
            $0.applicationInterceptors = [
                Around { request, context, next in
                    try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(400))
                    return try await next(request, context)
                }
            ]
        }
        #expect(try await rig.client.get("https://map.test/", timeout: .unlimited).status == .ok)
    }
}
