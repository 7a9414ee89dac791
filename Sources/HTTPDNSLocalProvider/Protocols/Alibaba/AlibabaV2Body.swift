#if LocalProvider
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// An answer of version 2, with the vendor's names for its members.
struct AlibabaV2Body: Encodable {
    struct Data: Encodable {
        var cip: String
        var answers: [Answer]
    }

    struct Answer: Encodable {
        var dn: String
        var v4: Family?
        var v6: Family?

        init(_ answer: ZoneAnswer, _ families: HTTPDNSAddress.Families) {
            dn = "\(answer.host)"
            if families.contains(.v4) { v4 = Family(answer, .v4) }
            if families.contains(.v6) { v6 = Family(answer, .v6) }
        }
    }

    struct Family: Encodable {
        var ips: [String]
        var ttl: Int
        /// The two known codes of the vendor; the full list is UNCONFIRMED.
        var absenceCode: String?

        enum CodingKeys: String, CodingKey {
            case ips, ttl
            case absenceCode = "no_ip_code"
        }

        init(_ answer: ZoneAnswer, _ family: HTTPDNSAddress.Family) {
            ips = answer.addresses(family).map { "\($0)" }
            ttl = ips.isEmpty ? answer.absence : answer.timeToLive
            if ips.isEmpty { absenceCode = answer.exists ? "RRNotExist" : "DomainNotExist" }
        }
    }

    /// The value of `data`: an object, or a text that contains one.
    enum Content: Encodable {
        case plain(Data)
        case sealed(String)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .plain(let data): try data.encode(to: encoder)
            case .sealed(let text): try text.encode(to: encoder)
            }
        }
    }

    var code = "success"
    var mode = 0
    var data: Content
}
#endif
