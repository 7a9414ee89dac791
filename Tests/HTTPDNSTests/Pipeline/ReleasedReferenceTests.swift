// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// Objects of a caller whose `deinit` uses the object of the library that released them. Under a lock of it, it would trap.
struct ReleasedReferenceTests {
    /// An object of a caller; also an error that its code throws.
    private final class Releasing: Error, HTTPDNSClient.Interceptor {
        let released: @Sendable () -> Void

        init(_ released: @escaping @Sendable () -> Void) { self.released = released }

        deinit { released() }

        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            try await next(request, context)
        }
    }

    /// A place of the library that keeps references of callers.
    enum Place: CaseIterable, Sendable {
        case applicationInterceptor, networkInterceptor, settings, provider, answeredChallenges, tokenError, events
        case removedStub, removedStubs
    }

    @Test("A caller's deinit may use the object that released it", arguments: Place.allCases)
    func released(from place: Place) async throws {
        let releases = Lock(0)
        let released = Gate()
        let count: @Sendable () -> Void = {
            releases.withLock { $0 += 1 }
            released.open()
        }
        try await release(from: place, count)
        // A task of the library may hold it a moment longer.
        await released.passage()
        #expect(releases.withLock { $0 } == 1)
    }

    private func release(from place: Place, _ count: @escaping @Sendable () -> Void) async throws {
        switch place {
        case .applicationInterceptor, .networkInterceptor: releaseInterceptor(from: place, count)
        case .settings: try releaseCredential(count)
        case .provider: try releaseProvider(count)
        case .answeredChallenges: releaseMemories(count)
        case .tokenError: await releaseTokenError(count)
        case .events: releaseEvents(count)
        case .removedStub, .removedStubs: releaseStub(from: place, count)
        }
    }

    private func releaseInterceptor(from place: Place, _ count: @escaping @Sendable () -> Void) {
        let registry = HTTPDNSClient.InterceptorRegistry()
        let helper = registry.addNetworkInterceptor(Releasing {})
        let interceptor = { [registry] in
            Releasing {
                helper.remove()
                if registry.isEnabled { count() }
            }
        }
        let registration =
            place == .applicationInterceptor
            ? registry.addApplicationInterceptor(interceptor()) : registry.addNetworkInterceptor(interceptor())
        registration.remove()
        #expect(registry.chain.isEmpty)
    }

    /// The credential's closure is the only user of the object.
    private func releaseCredential(_ count: @escaping @Sendable () -> Void) throws {
        let origin = try #require(HTTPDNSClient.Origin("https://one.test"))
        let pipeline = try Rig().client.pipeline
        var configuration = HTTPDNSClient.Configuration()
        configuration.credentials = [
            origin: credential { if pipeline.current.values.options.retries.limit >= 0 { count() } }
        ]
        #expect(pipeline.reload(configuration))
        configuration.credentials = [:]
        #expect(pipeline.reload(configuration))
    }

    private func credential(_ released: @escaping @Sendable () -> Void) -> HTTPDNSClient.Credential {
        let object = Releasing(released)
        return .bearer { withExtendedLifetime(object) { HTTPDNSClient.Credential.Token("t") } }
    }

    private final class Provider: HTTPDNSProvider {
        let name = "own"
        let answerScope = HTTPDNSAddressPolicy.Scope.public
        let batchLimit = 1
        let released: @Sendable () -> Void

        init(_ released: @escaping @Sendable () -> Void) { self.released = released }

        deinit { released() }

        func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer { HTTPDNSProviderAnswer() }
        func shutdown() async {}
    }

    private func releaseProvider(_ count: @escaping @Sendable () -> Void) throws {
        let rig = try Rig()
        let resolver = rig.client.resolver
        let host = try HTTPDNSName("one.test")
        var settings = rig.configuration.resolver
        settings.providers.append(
            Provider { if resolver.route(for: host) != nil { count() } }
        )
        _ = try resolver.reload(settings)
        settings.providers.removeLast()
        _ = try resolver.reload(settings)
        // Another reload drops what the former ones have left.
        _ = try resolver.reload(settings)
    }

    /// One credential more than the memories keep.
    private func releaseMemories(_ count: @escaping @Sendable () -> Void) {
        let memories = AuthenticationMemories()
        let releases = Lock(0)
        let object = {
            self.credential {
                _ = memories.memory(of: .bearer { HTTPDNSClient.Credential.Token("o") }, at: "https://own.test")
                let isFirst = releases.withLock { releases in
                    releases += 1
                    return releases == 1
                }
                if isFirst { count() }
            }
        }
        for _ in 0...1024 { _ = memories.memory(of: object(), at: "https://one.test") }
    }

    private func releaseTokenError(_ count: @escaping @Sendable () -> Void) async {
        let box = Lock<BearerTokens?>(nil)
        let tries = Lock(0)
        let clock = HTTPDNSManualClock()
        let tokens = BearerTokens(renewsAhead: .zero, minimumInterval: .zero) {
            let isFirst = tries.withLock { tries in
                tries += 1
                return tries == 1
            }
            guard isFirst else { return HTTPDNSClient.Credential.Token("t") }
            throw Releasing {
                let tokens = box.withLock { $0 }
                tokens?.refuse(0, on: clock)
                count()
            }
        }
        box.withLock { $0 = tokens }
        for _ in 0..<2 {
            guard let demand = tokens.demand(on: clock) else { continue }
            _ = try? await tokens.token(demand, until: nil, orClosing: CallGate())
        }
        box.withLock { $0 = nil }
    }

    private func releaseEvents(_ count: @escaping @Sendable () -> Void) {
        let queue = EventQueue.ofCalls(limit: 2)
        #expect(queue.open())
        let offer = {
            var event = HTTPDNSClient.RequestEvent(.failed, callID: 1, at: .now)
            var error = HTTPDNSClientError(code: .interceptorFailed, phase: .interceptor, message: "m")
            error.underlying = Releasing { if queue.lost == 0 { count() } }
            event.error = error
            _ = queue.offer(event, isLast: true)
        }
        offer()
        queue.close()
    }

    private func releaseStub(from place: Place, _ count: @escaping @Sendable () -> Void) {
        let stubs = HTTPDNSStubs(unmatched: .fail)
        let make = {
            let object = Releasing { if stubs.requests.isEmpty { count() } }
            return stubs.on(.custom("own") { _ in withExtendedLifetime(object) { true } })
        }
        let stub = make()
        if place == .removedStub { stub.remove() } else { stubs.removeAll() }
    }
}
