// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Synchronization
import Testing

struct NestedCallTests {
    /// Holds the client that an interceptor of that client calls.
    private final class Box: Sendable {
        private let stored = Lock<HTTPDNSClient?>(nil)
        var client: HTTPDNSClient? {
            get { stored.withLock { $0 } }
            set { stored.withLock { $0 = newValue } }
        }
    }

    @Test("An interceptor may make a call of its own through the same client")
    func tokenFetch() async throws {
        let box = Box()
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    guard context.depth == 0 else { return try await next(request, context) }
                    _ = try await box.client?.get("https://two.test/token")
                    return try await next(request, context)
                }
            ]
        }
        box.client = rig.client
        _ = try await rig.client.get("https://one.test/")
        #expect(rig.wire.requests.map(\.url.description) == ["https://two.test/token", "https://one.test/"])
    }

    @Test("An interceptor that always calls its own client ends with a loop error")
    func loop() async throws {
        let box = Box()
        let depths = Journal<String>()
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    depths.write("\(context.depth)")
                    _ = try await box.client?.get(request.url)
                    return try await next(request, context)
                }
            ]
        }
        box.client = rig.client
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == .loop)
        #expect(error?.requestMayHaveBeenSent == false)
        #expect(depths.all == (0...8).map(String.init))
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("Two clients that call each other in turn are stopped too")
    func loopOfTwo() async throws {
        let first = Box()
        let second = Box()
        func calling(_ box: Box) -> Around {
            Around.before { _ = try await box.client?.get($0.url) }
        }
        let one = try Rig { $0.applicationInterceptors = [calling(second)] }
        let two = try Rig { $0.applicationInterceptors = [calling(first)] }
        first.client = one.client
        second.client = two.client
        #expect(await clientError { try await one.client.get("https://one.test/") }?.code == .loop)
    }

    @Test("A call of a task that outlives the call that started it is not nested")
    func outliving() async throws {
        let (box, depths, ended) = (Box(), Journal<String>(), Gate())
        let later = Lock<Task<Void, any Error>?>(nil)
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    depths.write("\(context.depth)")
                    if request.url.hasSuffix("/first") {
                        let task = Task {
                            await ended.passage()
                            _ = try await box.client?.get("https://one.test/later")
                        }
                        later.withLock { $0 = task }
                    }
                    return try await next(request, context)
                }
            ]
        }
        box.client = rig.client
        _ = try await rig.client.get("https://one.test/first")
        ended.open()
        try await later.withLock { $0 }?.value
        #expect(depths.all == ["0", "0"])
    }

    @Test("Concurrent calls are not nested, and have numbers of their own")
    func sideBySide() async throws {
        let seen = Lock<[UInt64: Int]>([:])
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    seen.withLock { $0[context.callID] = context.depth }
                    return try await next(request, context)
                }
            ]
        }
        try await concurrently(50) { _ in _ = try await rig.client.get("https://one.test/") }
        let depths = seen.withLock { $0 }
        #expect(depths.count == 50 && depths.values.allSatisfy { $0 == 0 })
    }

    @Test("Network interceptors see the hop's number and the call's deadline")
    func context() async throws {
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.timeouts.total = nil
            configuration.networkInterceptors = [
                Around { request, context, next in
                    journal.write("hop \(context.hop) deadline \(context.deadline == nil ? "none" : "set")")
                    return try await next(request, context)
                }
            ]
        }
        _ = try await rig.client.get("https://one.test/")
        _ = try await rig.client.get("https://one.test/") { $0.timeouts.total = .seconds(600) }
        #expect(journal.all == ["hop 0 deadline none", "hop 0 deadline set"])
    }

    /// The next call starts at 0 again.
    @Test("Each next of an application interceptor begins the hop with the next number")
    func hopNumbers() async throws {
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Around { request, context, next in
                    journal.write("call \(context.hop)")
                    _ = try await next(request, context)
                    return try await next(request, context)
                }
            ]
            configuration.networkInterceptors = [
                Around { request, context, next in
                    journal.write("hop \(context.hop)")
                    return try await next(request, context)
                }
            ]
        }
        for _ in 0..<2 { _ = try await rig.client.get("https://one.test/") }
        #expect(journal.all == ["call 0", "hop 0", "hop 1", "call 0", "hop 0", "hop 1"])
    }
}
