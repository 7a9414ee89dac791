internal import HTTPDNSPrimitives

/// A list of endpoints in the order to try.
struct ServiceCandidateList {
    let families: HTTPDNSAddress.Families
    private(set) var endpoints: [ServiceEndpoint] = []
    /// The lifetimes of the answers whose addresses are in the list.
    private(set) var lives: [Duration] = []
    /// The first failure among the answers.
    private(set) var failure: HTTPDNSProviderError?
    private var known: Set<ServiceEndpoint> = []
    private var counts: [HTTPDNSAddress.Family: Int] = [:]

    init(families: HTTPDNSAddress.Families) { self.families = families }

    /// Appends the addresses of a family from `answer`; the hints only without an answer (RFC 9460 section 7.3).
    mutating func append(
        _ answer: HTTPDNSProviderAnswer.Family?,
        family: HTTPDNSAddress.Family,
        port: UInt16?,
        hints: [HTTPDNSAddress] = []
    ) {
        guard families.contains(family) else { return }
        switch answer {
        case .addresses(let addresses, let timeToLive, _):
            if append(addresses, family: family, port: port) { lives.append(timeToLive) }
        case .noData, .nameError:
            break
        case .failed(let error):
            failure = failure ?? error
            _ = append(hints, family: family, port: port)
        case nil:
            _ = append(hints, family: family, port: port)
        }
    }

    /// - Returns: Whether an address of the family was there.
    private mutating func append(_ addresses: [HTTPDNSAddress], family: HTTPDNSAddress.Family, port: UInt16?) -> Bool {
        var isThere = false
        for address in addresses where address.family == family {
            isThere = true
            let endpoint = ServiceEndpoint(address: address, port: port)
            guard counts[family, default: 0] < AnswerReading.maximumAddressesPerFamily,
                known.insert(endpoint).inserted
            else { continue }
            counts[family, default: 0] += 1
            endpoints.append(endpoint)
        }
        return isThere
    }
}
