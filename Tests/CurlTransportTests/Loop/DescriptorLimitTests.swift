import CurlTransport
import Foundation
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@Suite("Descriptors")
struct DescriptorLimitTests {
    /// Tries a request of a fresh transport while this process has `free` descriptors left, then with plenty.
    private static func failThenRecover(_ driver: TransportConfiguration.Driver, free: Int) async throws {
        let server = try RawServer(
            .repeatForever([.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
        )
        let fixture = TransportFixture(driver)
        let request = try TransportFixture.request("http://one.test:\(server.port)/", at: "127.0.0.1") {
            $0.connect = .seconds(5)
        }
        // The concurrency runtime's timers take descriptors at their first use, and end the process when there are none.
        try await Task.sleep(for: .nanoseconds(1), clock: .continuous)
        try await Task.sleep(for: .nanoseconds(1), clock: .suspending)
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var held: [Int32] = []
        while case let descriptor = dup(0), descriptor >= 0 { held.append(descriptor) }
        for _ in 0..<free { close(held.removeLast()) }
        let failure = await #expect(throws: TransferFailure.self) { try await fixture.fetch(request) }
        #expect(failure?.message.contains("Too many open files") == true, "\(failure?.message ?? "")")
        #expect(failure?.requestMayHaveBeenSent == false)
        for descriptor in held { close(descriptor) }
        #expect(try await fixture.fetch(request).response.head.status == .ok)
        await fixture.transport.shutdown()
    }

    @Test(
        "a process out of descriptors gets an error that says so, and a transport that works once there are some",
        arguments: 0..<3
    )
    func outOfDescriptors(free: Int) async {
        await #expect(processExitsWith: .success) { [free] in
            try await Self.failThenRecover(.platformDefault, free: free)
        }
    }

    /// 500 requests at once in a process that may have 64 descriptors, then 500 with as many as it likes.
    private static func manyAtOnce() async throws {
        let server = try RawServer(
            .repeatForever([.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
        )
        let fixture = TransportFixture(.platformDefault)
        let request = try TransportFixture.request("http://one.test:\(server.port)/", at: "127.0.0.1")
        try await Task.sleep(for: .nanoseconds(1), clock: .continuous)
        try await Task.sleep(for: .nanoseconds(1), clock: .suspending)
        func results() async -> [Result<Int, TransferFailure>] {
            await withTaskGroup(of: Result<Int, TransferFailure>.self) { group in
                for _ in 0..<500 {
                    group.addTask {
                        do {
                            return .success(try await fixture.fetch(request).response.head.status.code)
                        } catch let failure as TransferFailure {
                            return .failure(failure)
                        } catch {
                            return .failure(TransferFailure(code: .transport, phase: .queue, message: "\(error)"))
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let plenty = limit.rlim_cur
        limit.rlim_cur = 64
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let tight = await results()
        #expect(tight.count == 500)
        for case .failure(let failure) in tight {
            // The server is in this process: its end of a connection may be the one without a descriptor.
            #expect(failure.code == .connectFailed || failure.code == .connectionLost, "\(failure)")
        }
        #expect(tight.contains { if case .success = $0 { true } else { false } })
        limit.rlim_cur = plenty
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #expect(try await fixture.fetch(request).response.head.status == .ok)
        await fixture.transport.shutdown()
    }

    @Test(
        "64 descriptors and 500 requests at once: 500 results, and all is well when there are more, without a restart"
    )
    func manyRequests() async {
        await #expect(processExitsWith: .success) { try await Self.manyAtOnce() }
    }

    @Test("the same with the portable driver", arguments: 0..<2)
    func outOfDescriptorsPolling(free: Int) async {
        await #expect(processExitsWith: .success) { [free] in
            try await Self.failThenRecover(.poll, free: free)
        }
    }
}
