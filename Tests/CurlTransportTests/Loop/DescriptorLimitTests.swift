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

    @Test("the same with the portable driver", arguments: 0..<2)
    func outOfDescriptorsPolling(free: Int) async {
        await #expect(processExitsWith: .success) { [free] in
            try await Self.failThenRecover(.poll, free: free)
        }
    }
}

@Suite("Descriptors, with a server elsewhere", .enabled(if: ServerRig.isAvailable([.nginx])), .timeLimit(.minutes(2)))
struct ManyRequestsTests {
    private typealias Outcome = Result<Int, TransferFailure>

    private static func limitDescriptors(to number: rlim_t) -> rlim_t {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        getrlimit(resource, &limit)
        defer {
            limit.rlim_cur = number
            setrlimit(resource, &limit)
        }
        return limit.rlim_cur
    }

    /// Five hundred requests at once.
    private static func outcomes(_ fixture: TransportFixture, port: UInt16) async throws -> [Outcome] {
        let request = try TransportFixture.request("http://one.test:\(port)/a.jpg", at: "127.0.0.2")
        return await withTaskGroup(of: Outcome.self) { group in
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

    private static func failThenRecover(port: UInt16) async throws {
        let fixture = TransportFixture(.platformDefault)
        // The concurrency runtime's timers take descriptors at their first use, and end the process when there are none.
        try await Task.sleep(for: .nanoseconds(1), clock: .continuous)
        try await Task.sleep(for: .nanoseconds(1), clock: .suspending)
        let plenty = limitDescriptors(to: 64)
        let tight = try await outcomes(fixture, port: port)
        #expect(tight.count == 500)
        #expect(tight.contains { (try? $0.get()) == 200 })
        for case .failure(let failure) in tight {
            #expect(failure.message.contains("Too many open files"), "\(failure)")
            #expect(!failure.requestMayHaveBeenSent)
        }
        _ = limitDescriptors(to: plenty)
        #expect(try await outcomes(fixture, port: port).allSatisfy { (try? $0.get()) == 200 })
        await fixture.transport.shutdown()
    }

    @Test("64 descriptors and 500 requests at once: 500 results; with more descriptors all is well, without a restart")
    func manyRequests() async throws {
        let port = try await ServerRig.shared().httpPort
        await #expect(processExitsWith: .success) { [port = port as UInt16] in
            try await Self.failThenRecover(port: port)
        }
    }
}
