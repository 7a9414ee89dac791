// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import HTTPDNSCore
internal import HTTPDNSMessages
internal import HTTPDNSPrimitives

/// The lookup of a hook's question: one name, and the families of its addresses.
struct HookQuestion: Hashable, Sendable {
    let name: HTTPDNSName
    let families: Set<HTTPDNSAddress.Family>

    /// - Returns: Nil for a question that is for nobody here: of several names, of another class, or for records of other types.
    ///   systemd-resolved puts the forms of an international name together, of which those in UTF-8 are passed over.
    init?(_ keys: [VarlinkRequest.RecordKey]) {
        var names: Set<HTTPDNSName> = []
        var families: Set<HTTPDNSAddress.Family> = []
        for key in keys where key.name.utf8.allSatisfy({ $0 < 0x80 }) {
            guard key.recordClass == DNSWireFormat.internetClass,
                case .name(let name)? = try? HTTPDNSHost(key.name)
            else { return nil }
            names.insert(name)
            let type = DNSRecordType(number: key.type)
            switch type {
            case .a: families.insert(.v4)
            case .aaaa: families.insert(.v6)
            // Their hints are addresses, which no mapping knows: there are none.
            case _ where type.bindsServices: break
            default: return nil
            }
        }
        guard let name = names.first, names.count == 1 else { return nil }
        (self.name, self.families) = (name, families)
    }

    /// The family to look up; nil for both.
    var family: HTTPDNSAddress.Family? { families.count == 1 ? families.first : nil }
}

extension VarlinkReply {
    /// Returns the names to ask a hook for; nil for every name. None turns the hook off.
    static func filter(_ zones: Set<HTTPDNSName>?, continues: Bool) -> VarlinkReply {
        let list = zones.map { "[" + $0.map { "\"\($0)\"" }.sorted().joined(separator: ",") + "]" } ?? "null"
        let more = continues ? #","continues":true"# : ""
        return VarlinkReply(.other, json: #"{"parameters":{"filterDomains":\#(list)}\#(more)}"#)
    }

    /// The reply to a hook's question that is for others.
    static let hookPasses = VarlinkReply(.notOurs, json: #"{"parameters":{}}"#)

    /// Returns the reply to a hook's question.
    static func hook(_ outcome: ListenerLookup.Outcome, _ question: HookQuestion) -> VarlinkReply {
        switch outcome {
        case .notOurs: return hookPasses
        case .found(let resolution):
            let owner = DNSName(question.name)
            let seconds = resolution.secondsForClients
            let records = resolution.endpoints
                .filter { $0.port == 0 && question.families.contains($0.address.family) }
                .prefix(maximumAddresses)
                .map { endpoint -> String in
                    let address = endpoint.address
                    let record = ReceivedQuery.record(
                        DNSRecordType(of: address.family),
                        of: owner,
                        timeToLive: seconds,
                        address.bytes
                    )
                    return #"{"raw":"\#(Base64.text(record))"}"#
                }
            return hook(records.isEmpty ? .noAddress : .addresses, code: 0, records)
        case .failed(let error):
            switch error?.code {
            case .nameNotFound?: return hook(.noSuchName, code: 3)
            case .noAddresses?, .policyRefused?: return hook(.noAddress, code: 0)
            case .invalidName?: return hookPasses
            default: return hook(.failed, code: 2)
            }
        }
    }

    /// The reply that there are no records of the type.
    static let hookNoRecords = hook(.noAddress, code: 0)
    /// The reply to a hook's question after the limit of time.
    static let hookTimedOut = hook(.failed, code: 2)

    private static func hook(_ kind: Kind, code: Int, _ records: [String] = []) -> VarlinkReply {
        let answer = code == 0 ? #","answer":[\#(records.joined(separator: ","))]"# : ""
        return VarlinkReply(kind, json: #"{"parameters":{"rcode":\#(code)\#(answer)}}"#)
    }
}
#endif
