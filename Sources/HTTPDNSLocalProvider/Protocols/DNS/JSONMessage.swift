#if LocalProvider
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// An answer of JSON DNS, with the names that the services give its members.
struct JSONMessage: Encodable {
    struct Question: Encodable {
        var name: String
        var type: UInt16
    }

    struct Record: Encodable {
        var name: String
        var type: UInt16
        var TTL: Int
        var data: String
    }

    /// A list, or what Alidns' sample shows: the one question without a list around it.
    enum Questions: Encodable {
        case list(Question)
        case bare(Question)

        func encode(to encoder: any Encoder) throws {
            switch self {
            case .list(let question): try [question].encode(to: encoder)
            case .bare(let question): try question.encode(to: encoder)
            }
        }
    }

    var Status: UInt16
    var TC = false
    var RD = true
    var RA = true
    var AD = false
    var CD = false
    var Question: Questions
    var Answer: [Record]?
    var Authority: [Record]?

    /// A response code alone.
    init(_ host: HostName, _ type: DNSRecordType, status: DNSResponseCode, shape: JSONDNS.Shape) {
        Status = status.number
        let question = JSONMessage.Question(name: "\(host).", type: type.number)
        Question = shape == .alidns ? .bare(question) : .list(question)
    }

    init(_ host: HostName, _ type: DNSRecordType, answer: ZoneAnswer, shape: JSONDNS.Shape) {
        self.init(host, type, status: answer.exists ? .noError : .nameError, shape: shape)
        let life = answer.timeToLive
        var owner = "\(host)."
        var records: [Record] = []
        for alias in answer.aliases {
            records.append(Record(name: owner, type: DNSRecordType.cname.number, TTL: life, data: "\(alias)."))
            owner = "\(alias)."
        }
        let addresses: [IPAddress] =
            switch type {
            case .a: answer.v4
            case .aaaa: answer.v6
            default: []
            }
        records += addresses.map { Record(name: owner, type: type.number, TTL: life, data: "\($0)") }
        if !records.isEmpty { Answer = records }
        guard addresses.isEmpty else { return }
        let absence = min(life, 60)
        Authority = [
            Record(
                name: owner,
                type: DNSRecordType.soa.number,
                TTL: absence,
                data: "\(owner) \(owner) 1 7200 3600 1209600 \(absence)"
            )
        ]
    }

    /// The addresses alone, as Alidns' `short=1` is reported to send them (UNCONFIRMED).
    var values: [String] { (Answer ?? []).filter { $0.type != DNSRecordType.cname.number }.map(\.data) }
}
#endif
