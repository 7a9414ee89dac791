// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import CHTTPDNSCurl
import Glibc
import HTTPDNSPrimitives
import ServerRig
import Synchronization
import Testing

@testable import HTTPDNSCurl

/// A kernel that watches no more descriptors (epoll_ctl(2): ENOSPC at `fs.epoll.max_user_watches`).
struct EpollDriverTests {
    /// Fails each call from a given number on, counted from 0, while there are any left to fail.
    private final class FullKernel: Sendable {
        private let calls = Atomic<Int>(0)
        let failures: Range<Int>

        init(_ failures: Range<Int>) { self.failures = failures }

        var control: EpollControl {
            { [self] descriptor, operation, socket, event in
                guard
                    operation == EPOLL_CTL_DEL
                        || !failures.contains(calls.wrappingAdd(1, ordering: .relaxed).oldValue)
                else {
                    errno = ENOSPC
                    return -1
                }
                return epoll_ctl(descriptor, operation, socket, event)
            }
        }
    }

    private func fixture(_ kernel: FullKernel) -> TransportFixture {
        var configuration = TransportConfiguration()
        configuration.system.epollControl = kernel.control
        return TransportFixture(Transport(configuration))
    }

    @Test("A transfer whose socket is not watched fails, and the next one is served")
    func socket() async throws {
        let server = try RawServer(.serve("ok"))
        // The waker is the first.
        let fixture = fixture(FullKernel(1..<2))
        let request = try TransportFixture.request(to: server) {
            ($0.connect, $0.firstByte) = (.seconds(300), .seconds(300))
        }
        let began = ContinuousClock.now
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.message.contains("max_user_watches") && failure.endpoint == request.endpoints[0], "\(failure)")
        #expect(began.duration(to: .now) < .seconds(300))
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        await fixture.transport.shutdown()
    }

    @Test("A loop that is not woken does not begin, and the next transfer tries again")
    func waker() async throws {
        let server = try RawServer(.serve("ok"))
        let fixture = fixture(FullKernel(0..<1))
        let request = try TransportFixture.request(to: server)
        #expect(await fixture.failure(of: request)?.message.contains("max_user_watches") == true)
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        await fixture.transport.shutdown()
    }
}
