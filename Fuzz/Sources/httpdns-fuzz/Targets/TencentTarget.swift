// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSVendors

extension FuzzTarget {
    /// Answers of Tencent's HTTPDNS, and what it says about itself. The names that are asked about are taken from the text,
    /// so that they seldom end the reading.
    static let tencent = FuzzTarget(name: "tencent") { octets in
        for families in [HTTPDNSAddress.Families.v4, .v6, .both] {
            let hosts = Array(hosts(in: octets).prefix(8))
            checkTencent(octets, VendorQuery(hosts: hosts, families: families))
            checkTencent(octets, VendorQuery(hosts: [hosts[0]], families: families))
        }
        do throws(VendorAnswerError) {
            let discovery = try TencentServiceList.read(octets, port: 443)
            precondition(discovery.endpoints.allSatisfy { $0.port == 443 && $0.address.family == .v4 })
            let life = discovery.lifetime ?? .zero
            precondition(life >= .seconds(60) && life <= .seconds(24 * 3600))
        } catch {
            precondition(isOneLine(error.description), "an error is one line of ASCII")
        }
    }

    private static func checkTencent(_ octets: [UInt8], _ question: VendorQuery) {
        let read: VendorReading = { octets, question throws(VendorAnswerError) in
            try TencentAnswer.read(octets, question: question)
        }
        check(question, read, octets)
        // What is behind the last separator is all that an answer may lack.
        guard let end = octets.lastIndex(of: UInt8(ascii: "|")) else {
            return precondition((try? read(octets, question)) == nil, "a text without an end is no answer")
        }
        precondition(octets[..<end].contains(UInt8(ascii: "|")) || (try? read(Array(octets[..<end]), question)) == nil)
    }

    /// The names that the text speaks of; at least one.
    private static func hosts(in octets: [UInt8]) -> [HTTPDNSName] {
        let lines = String(decoding: octets, as: UTF8.self).split { $0.isNewline || $0 == ":" || $0 == "|" }
        return Set(lines.prefix(32).compactMap { try? HTTPDNSName(String($0)) }).sorted() + [.localhost]
    }
}
