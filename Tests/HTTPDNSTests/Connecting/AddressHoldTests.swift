// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

@testable import HTTPDNS

struct AddressHoldTests {
    private let origin: HopOrigin
    private let provider = AnswerProvenance(isSystem: false, generation: 1)
    private let old = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: 443)
    private let new = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 2), port: 443)
    private let first = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 3), port: 443)

    init() throws { origin = HopOrigin(host: .name(try HTTPDNSName("one.test")), port: 443) }

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .milliseconds(Int64(seconds * 1000))
    }

    private func hold(sendsOneAhead: Bool = false) -> AddressHold {
        // The name rotates: requests have moved to this address because the answer changed.
        var hold = AddressHold(limit: .seconds(30), sendsOneAhead: sendsOneAhead)
        hold.answered(by: first, held: nil, for: origin, provider, at: at(-1))
        #expect(held(&hold, -0.5, [old]) == nil)
        hold.answered(by: old, held: nil, for: origin, provider, at: at(0))
        return hold
    }

    private func held(_ hold: inout AddressHold, _ seconds: Double, _ endpoints: [HTTPDNSEndpoint]) -> HTTPDNSEndpoint?
    {
        hold.heldEndpoint(for: origin, among: endpoints, provider, at: at(seconds))
    }

    /// A response each second, on the address that is held.
    private func keepWarm(_ hold: inout AddressHold, from: Int, to: Int) {
        for second in from...to {
            #expect(held(&hold, Double(second), [new]) == old)
            hold.answered(by: old, held: old, for: origin, provider, at: at(Double(second)))
        }
    }

    @Test("Requests leave a warm address 30 s after it was last in an answer")
    func bound() {
        var hold = hold()
        #expect(held(&hold, 1, [old, new]) == nil, "it is in the answer")
        keepWarm(&hold, from: 2, to: 31)
        #expect(held(&hold, 31.5, [new]) == nil)
        hold.answered(by: new, held: nil, for: origin, provider, at: at(32))
        hold.answered(by: old, held: old, for: origin, provider, at: at(32.1))
        #expect(held(&hold, 33, [old]) == new, "one that was still under way on the old address moves nobody back")
    }

    /// The next change does so, too, when it comes late.
    @Test("A single change of the answer moves requests immediately")
    func oneChange() {
        var hold = AddressHold(limit: .seconds(30), sendsOneAhead: false)
        hold.answered(by: old, held: nil, for: origin, provider, at: at(0))
        #expect(held(&hold, 1, [new]) == nil)
        #expect(held(&hold, 1.1, [new]) == nil, "also before one of them was answered there")
        hold.answered(by: old, held: nil, for: origin, provider, at: at(1.2))
        #expect(held(&hold, 1.3, [new]) == nil, "one that was still under way on the old address moves nobody back")
        hold.answered(by: new, held: nil, for: origin, provider, at: at(1.4))
        for second in 2...32 {
            #expect(held(&hold, Double(second), [new]) == nil)
            hold.answered(by: new, held: nil, for: origin, provider, at: at(Double(second)))
        }
        #expect(held(&hold, 32, [old]) == nil, "31 s after the move")
        hold.answered(by: old, held: nil, for: origin, provider, at: at(32.1))
        #expect(held(&hold, 33, [new]) == old, "1 s after it: the name rotates")
    }

    @Test("An address that has not answered for 5 s is left immediately")
    func cold() {
        var hold = hold()
        #expect(held(&hold, 5, [new]) == old)
        #expect(held(&hold, 5.1, [new]) == nil)
        #expect(hold.count == 0)
    }

    @Test("An answer from another source, or after a change of mappings, counts immediately")
    func provenance() {
        for other in [
            AnswerProvenance(isSystem: true, generation: 1),
            AnswerProvenance(isSystem: false, isMapped: true, generation: 1),
            AnswerProvenance(isSystem: false, generation: 2),
        ] {
            var hold = hold()
            #expect(hold.heldEndpoint(for: origin, among: [new], other, at: at(1)) == nil)
            #expect(held(&hold, 1, [new]) == nil, "and nothing is left of what was held")
        }
    }

    /// Also one that drained while the answers still contained it.
    @Test("A drained address that the newest answer lacks is left immediately", arguments: [421, 500, 502, 503, 504])
    func drained(status: Int) {
        let staying = status == 500 ? old : nil
        var hold = hold()
        #expect(held(&hold, 1, [new]) == old)
        hold.answered(by: old, status: status, held: old, for: origin, provider, at: at(1))
        #expect(held(&hold, 1.1, [new]) == staying)
        #expect(held(&hold, 1.2, [new]) == staying, "also before the other one answered")
        var listed = self.hold()
        #expect(held(&listed, 1, [old]) == nil)
        listed.answered(by: old, status: status, held: nil, for: origin, provider, at: at(1))
        #expect(held(&listed, 1.1, [new]) == staying)
        var well = self.hold()
        well.answered(by: old, status: status, held: nil, for: origin, provider, at: at(1))
        well.answered(by: old, held: nil, for: origin, provider, at: at(1.1))
        #expect(held(&well, 1.2, [new]) == old, "it serves again")
    }

    @Test("After a failover requests stay on the address that answered")
    func failover() {
        var hold = hold()
        #expect(held(&hold, 1, [new]) == old)
        hold.answered(by: new, held: old, for: origin, provider, at: at(1))
        #expect(held(&hold, 2, [old]) == new)
    }

    /// When it is lost, another one goes.
    @Test("With warm_then_move one request goes ahead, and the others follow its response")
    func oneAhead() {
        var hold = hold(sendsOneAhead: true)
        keepWarm(&hold, from: 1, to: 30)
        #expect(held(&hold, 31, [new]) == nil, "goes ahead")
        #expect(held(&hold, 31.1, [new]) == old)
        hold.answered(by: old, held: old, for: origin, provider, at: at(36))
        #expect(held(&hold, 36, [new]) == old)
        #expect(held(&hold, 36.1, [new]) == nil, "the first one has not come back")
        hold.answered(by: new, held: nil, for: origin, provider, at: at(36.2))
        #expect(held(&hold, 36.3, [new]) == nil, "moved")
        #expect(held(&hold, 36.4, [old]) == new)
    }

    /// They take nothing from what is kept since, either.
    @Test("Requests from before everything was forgotten keep no address")
    func forgotten() {
        var hold = hold()
        let before = hold.epoch
        hold.forgetAll()
        hold.answered(by: old, held: nil, for: origin, provider, at: at(1), since: before)
        #expect(hold.count == 0)
        hold.answered(by: first, held: nil, for: origin, provider, at: at(1))
        #expect(held(&hold, 1.1, [new]) == nil, "one change alone")
        hold.answered(by: new, held: nil, for: origin, provider, at: at(1.2))
        hold.answered(by: old, held: nil, for: origin, provider, at: at(1.3), since: before)
        #expect(held(&hold, 1.4, [old]) == new)
    }

    @Test("The table is bounded")
    func tableBound() throws {
        var hold = hold()
        for number in 0..<(2 * AddressHold.maximumEntries) {
            let host = try HTTPDNSName("h\(number).test")
            let other = HopOrigin(host: .name(host), port: 443)
            hold.answered(by: old, held: nil, for: other, provider, at: at(0))
        }
        #expect(hold.count <= AddressHold.maximumEntries)
    }
}

extension AddressHold {
    /// A request was answered before which nothing was forgotten.
    fileprivate mutating func answered(
        by endpoint: HTTPDNSEndpoint,
        status: Int = 200,
        held: HTTPDNSEndpoint?,
        for origin: HopOrigin,
        _ provenance: AnswerProvenance,
        at now: MonotonicTime,
        since epoch: UInt64? = nil
    ) {
        answered(
            by: endpoint,
            status: status,
            held: held,
            for: origin,
            provenance,
            at: now,
            since: epoch ?? self.epoch
        )
    }
}
