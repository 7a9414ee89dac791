// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

final class ServiceAddressBookTests {
    private lazy var book = makeBook()

    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000_000)

    private static func endpoint(_ number: UInt8, port: UInt16 = 443) -> HTTPDNSEndpoint {
        HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, number), port: port)
    }

    private func makeBook(_ numbers: ClosedRange<UInt8> = 1...3) -> UpstreamAddressBook {
        UpstreamAddressBook(bootstrap: numbers.map { Self.endpoint($0) })
    }

    private func begins(at now: MonotonicTime) -> Bool { book.beginRefresh(at: now) }

    private func numbers(_ endpoints: [HTTPDNSEndpoint]) -> [UInt8] { endpoints.map { $0.address.bytes[3] } }

    @Test("A query tries at most three addresses, in the order of the settings")
    func order() {
        #expect(numbers(makeBook(1...9).attempts(at: start)) == [1, 2, 3])
        #expect(numbers(makeBook(1...1).attempts(at: start)) == [1])
    }

    @Test("The address that answered last is asked first")
    func favourite() {
        book.succeeded(Self.endpoint(3))
        #expect(numbers(book.attempts(at: start)) == [3, 1, 2])
    }

    @Test("A failed address is skipped for five minutes, to the second")
    func quarantine() {
        book.succeeded(Self.endpoint(1))
        book.failed(Self.endpoint(1), at: start)
        #expect(numbers(book.attempts(at: start)) == [2, 3])
        #expect(numbers(book.attempts(at: start + .seconds(299))) == [2, 3])
        #expect(numbers(book.attempts(at: start + .seconds(300))) == [1, 2, 3])
    }

    /// An answer ends its quarantine.
    @Test("When all addresses failed, the one that waited longest is asked first")
    func allFailed() {
        for (offset, number) in [2, 3, 1].enumerated() {
            book.failed(Self.endpoint(UInt8(number)), at: start + .seconds(offset))
        }
        #expect(numbers(book.attempts(at: start + .seconds(3))) == [2, 3, 1])
        book.succeeded(Self.endpoint(1))
        #expect(numbers(book.attempts(at: start + .seconds(3))) == [1])
    }

    @Test("A failure of an unknown address changes nothing")
    func stranger() {
        book.failed(Self.endpoint(9), at: start)
        #expect(numbers(book.attempts(at: start)) == [1, 2, 3])
    }

    @Test("A discovery is due immediately, then daily, and at most every five minutes")
    func refreshing() {
        #expect(begins(at: start))
        #expect(!begins(at: start + .seconds(299)))
        #expect(begins(at: start + .seconds(300)))
        book.learned(ServiceDiscovery(endpoints: [Self.endpoint(7)]), at: start + .seconds(301))
        #expect(!begins(at: start + .seconds(301 + 24 * 3600 - 1)))
        #expect(begins(at: start + .seconds(301 + 24 * 3600)))
    }

    @Test("A vendor's own lifetime counts, and so does the age of a stored list")
    func lifetimes() {
        #expect(begins(at: start))
        book.learned(ServiceDiscovery(endpoints: [Self.endpoint(7)], lifetime: .seconds(3600)), at: start)
        #expect(!begins(at: start + .seconds(3599)))
        #expect(begins(at: start + .seconds(3600)))
        book.learned(ServiceDiscovery(endpoints: [Self.endpoint(7)]), age: .seconds(80_000), at: start + .seconds(3600))
        #expect(!begins(at: start + .seconds(3600 + 6399)))
        #expect(begins(at: start + .seconds(3600 + 6400)))
    }

    /// The configured addresses are tried for it too.
    @Test("When every known address fails, a discovery is due")
    func refreshAfterFailure() {
        book = makeBook(1...2)
        #expect(begins(at: start))
        book.learned(ServiceDiscovery(endpoints: [Self.endpoint(7), Self.endpoint(8)]), at: start)
        let later = start + .seconds(600)
        for number in [7, 8, 1] as [UInt8] { book.failed(Self.endpoint(number), at: later) }
        #expect(!begins(at: later))
        book.failed(Self.endpoint(2), at: later)
        #expect(begins(at: later))
        #expect(numbers(book.discoveryAttempts(at: later)) == [7, 8, 1, 2])
    }

    /// An empty list changes nothing.
    @Test("Discovered addresses come before the configured ones, each once")
    func discovered() {
        book = makeBook(1...2)
        book.learned(
            ServiceDiscovery(endpoints: [Self.endpoint(8), Self.endpoint(2), Self.endpoint(8)]),
            at: start
        )
        #expect(numbers(book.attempts(at: start)) == [8, 2, 1])
        book.learned(ServiceDiscovery(endpoints: []), at: start)
        #expect(numbers(book.attempts(at: start)) == [8, 2, 1])
    }

    @Test("A new discovery keeps the quarantine of an address that stays")
    func quarantineStays() {
        book = makeBook(1...2)
        book.failed(Self.endpoint(1), at: start)
        book.learned(ServiceDiscovery(endpoints: [Self.endpoint(1), Self.endpoint(5)]), at: start)
        #expect(numbers(book.attempts(at: start)) == [5, 2])
    }

    @Test("A switched-off service is asked again within the hour, and may come back")
    func disabled() {
        #expect(begins(at: start))
        book.learned(ServiceDiscovery(isDisabled: true), at: start)
        #expect(book.isDisabled)
        #expect(!begins(at: start + .seconds(3599)))
        #expect(begins(at: start + .seconds(3600)))
        book.learned(ServiceDiscovery(endpoints: [Self.endpoint(4)]), at: start + .seconds(3600))
        #expect(!book.isDisabled)
    }

    @Test("An endless list is cut")
    func bounded() {
        book = makeBook(1...1)
        let many = (0..<60_000).map {
            HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 198, 51, UInt8($0 / 256), UInt8($0 % 256)), port: 443)
        }
        book.learned(ServiceDiscovery(endpoints: many), at: start)
        #expect(book.discovered.count == 32)
    }
}
