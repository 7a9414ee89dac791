#if LocalProvider
internal import HTTPDNSMessages
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// A JSON DNS response, with the services' names for its members.
struct JSONMessage: Encodable {
    struct Question: Encodable {
        var name: String
        var type: UInt16
    }

    struct Record: Encodable {
        var name: String
        var type: UInt16
        var timeToLive: Int
        var data: String

        enum CodingKeys: String, CodingKey {
            case name, type, data
            case timeToLive = "TTL"
        }
    }

    /// A list, or as in Alidns' sample: a single question without a list around it.
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

    var status: UInt16
    var isTruncated = false
    var recursionDesired = true
    var recursionAvailable = true
    var isAuthenticated = false
    var checkingDisabled = false
    var questions: Questions
    var answers: [Record]?
    var authorities: [Record]?

    enum CodingKeys: String, CodingKey {
        case status = "Status"
        case isTruncated = "TC"
        case recursionDesired = "RD"
        case recursionAvailable = "RA"
        case isAuthenticated = "AD"
        case checkingDisabled = "CD"
        case questions = "Question"
        case answers = "Answer"
        case authorities = "Authority"
    }

    /// Creates a message with a response code alone.
    init(_ host: HTTPDNSName, _ type: DNSRecordType, status: DNSResponseCode, shape: JSONDNS.Shape) {
        self.status = status.number
        let question = Question(name: "\(host).", type: type.number)
        questions = shape == .alidns ? .bare(question) : .list(question)
    }

    init(_ host: HTTPDNSName, _ type: DNSRecordType, answer: ZoneAnswer, shape: JSONDNS.Shape) {
        self.init(host, type, status: answer.exists ? .noError : .nameError, shape: shape)
        let life = answer.timeToLive
        var owner = "\(host)."
        var records: [Record] = []
        for alias in answer.aliases {
            records.append(Record(name: owner, type: DNSRecordType.cname.number, timeToLive: life, data: "\(alias)."))
            owner = "\(alias)."
        }
        let addresses = answer.addresses(type)
        records += addresses.map { Record(name: owner, type: type.number, timeToLive: life, data: "\($0)") }
        if !records.isEmpty { answers = records }
        guard addresses.isEmpty else { return }
        authorities = [
            Record(
                name: owner,
                type: DNSRecordType.soa.number,
                timeToLive: answer.absence,
                data: "\(owner) \(owner) 1 7200 3600 1209600 \(answer.absence)"
            )
        ]
    }

    /// The addresses alone, as Alidns' `short=1` is reported to send them (UNCONFIRMED).
    var values: [String] { (answers ?? []).filter { $0.type != DNSRecordType.cname.number }.map(\.data) }
}
#endif
