import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

@Suite("OutlierTable")
struct OutlierTableTests {
    private let key = EndpointHealth.Key(
        endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: 443),
        host: .name("one.test")
    )
    private let settings: HTTPDNSTransfer.OutlierEjection = {
        var settings = HTTPDNSTransfer.OutlierEjection()
        settings.consecutive = 3
        return settings
    }()

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("so many errors in a row, and not with a good answer between")
    func inARow() {
        var table = OutlierTable()
        for status in [503, 500, 200, 502, 504, 404] { table.answered(key, status: status, settings, at: at(0)) }
        #expect(!table.isEjected(key, at: at(0)) && table.isEmpty)
        for _ in 0..<3 { table.answered(key, status: 503, settings, at: at(0)) }
        #expect(table.isEjected(key, at: at(29)) && !table.isEjected(key, at: at(30)))
        #expect(table.records(at: at(0)).map(\.state) == [.ejected])
        #expect(table.records(at: at(30)).isEmpty)
    }

    @Test("each time twice as long, up to the limit, until it answers well; answers while it is ejected say nothing")
    func doubling() {
        var table = OutlierTable()
        var now = 0
        for rest in [30, 60, 120, 240, 300, 300] {
            for _ in 0..<3 { table.answered(key, status: 500, settings, at: at(now)) }
            table.answered(key, status: 500, settings, at: at(now + 1))
            table.answered(key, status: 200, settings, at: at(now + 1))
            #expect(table.isEjected(key, at: at(now + rest - 1)))
            now += rest
            #expect(!table.isEjected(key, at: at(now)))
        }
        table.answered(key, status: 200, settings, at: at(now))
        for _ in 0..<3 { table.answered(key, status: 500, settings, at: at(now)) }
        #expect(!table.isEjected(key, at: at(now + 30)))
    }

    @Test("a full table forgets what erred longest ago, and not how to eject")
    func full() {
        var table = OutlierTable(limit: 2)
        let keys = (1...3).map { number in
            EndpointHealth.Key(
                endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, UInt8(number)), port: 443),
                host: .name("one.test")
            )
        }
        for key in keys { for _ in 0..<3 { table.answered(key, status: 503, settings, at: at(0)) } }
        #expect(keys.map { table.isEjected($0, at: at(1)) } == [false, true, true])
        #expect(Set(table.records(at: at(1)).map(\.endpoint)) == Set(keys[1...].map(\.endpoint)))
    }

    @Test("an ejected endpoint goes behind healthy ones and suspects, and before those that cannot be connected to")
    func order() {
        let endpoints = (1...4).map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, $0), port: 443) }
        let host = ParsedURL.Host.name("one.test")
        var health = EndpointHealth()
        health.failed(endpoints[0], for: host, inTLS: false, at: at(0), random: 0)
        for _ in 0..<3 { health.answered(endpoints[1], for: host, status: 503, settings, at: at(0)) }
        health.suspected(endpoints[2], for: host, inTLS: false, at: at(0))
        #expect(health.ordered(endpoints, for: host, at: at(0)) == endpoints.reversed())
        #expect(health.ordered(endpoints, for: .name("two.test"), at: at(0))[0] == endpoints[1])
        #expect(health.standing(of: endpoints[1], for: host, at: at(30)) == .healthy)
    }
}
