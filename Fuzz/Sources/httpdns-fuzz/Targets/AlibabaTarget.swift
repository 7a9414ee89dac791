// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

@testable internal import HTTPDNSCore
@testable internal import HTTPDNSVendors

extension FuzzTarget {
    /// Answers of Alibaba's HTTPDNS in both versions, and of its schedule centre. The names that are asked about are taken
    /// from the text, so that they seldom end the reading.
    static let alibaba = FuzzTarget(name: "alibaba") { octets in
        guard let root = try? JSONReader.read(octets) else {
            for read in [first, plain] {
                precondition((try? read(octets, VendorQuery(hosts: [.localhost], families: .both))) == nil)
            }
            precondition((try? schedule.discovery(parsing: octets)) == nil)
            return
        }
        for families in [HTTPDNSAddress.Families.v4, .v6, .both] {
            let question = VendorQuery(hosts: Array(hosts(in: root).prefix(5)), families: families)
            for read in [first, plain] { check(question, read, octets) }
        }
        do throws(VendorAnswerError) {
            let discovery = try schedule.discovery(parsing: octets)
            precondition(discovery.endpoints.allSatisfy { $0.port > 0 })
        } catch {
            precondition(isOneLine(error.description), "an error is one line of ASCII")
        }
    }

    private static let first: VendorReading = { octets, question throws(VendorAnswerError) in
        try AlibabaV1Answer.read(octets, question: question)
    }

    private static let plain: VendorReading = { octets, question throws(VendorAnswerError) in
        try AlibabaV2Answer.read(octets, question: question, payload: nil)
    }

    private static let schedule: AlibabaSchedule = {
        guard
            let location = try? UpstreamLocation.vendor(
                url: "https://dns.example",
                bootstrap: [HTTPDNSAddress(v4: 192, 0, 2, 1)],
                provider: "fuzz"
            )
        else { preconditionFailure("the URL is good") }
        return AlibabaSchedule(location: location, account: "1", region: .mainlandChina) { count in
            [UInt8](repeating: 0, count: count)
        }
    }()

    /// The names that the text speaks of; at least one.
    private static func hosts(in root: JSONValue) -> [HTTPDNSName] {
        var elements = [root]
        for list in [root["dns"], root["data"]?["answers"]] {
            if case .array(let members)? = list { elements += members }
        }
        let names = elements.flatMap { [$0["host"], $0["dn"]] }.compactMap { $0?.text }.compactMap {
            try? HTTPDNSName($0)
        }
        return Set(names).sorted() + [.localhost]
    }
}
