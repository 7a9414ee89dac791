internal import HTTPDNSCurl
internal import HTTPTypes

/// The hops of a call so far, which decide whether one more may follow.
struct RedirectTrail {
    /// The number of redirects followed.
    private(set) var count = 0
    private var seen: Set<String> = []

    enum Step: Equatable {
        case followed
        case limitReached
        /// The same request was sent before, and would get the same response.
        case loop
    }

    init(first: ParsedURL, _ method: HTTPRequest.Method) { seen = [RedirectTrail.text(first, method)] }

    /// Records the next request.
    /// - Parameter isChanged: Whether the hook made the request; it may differ from an earlier one to the same URL.
    mutating func follow(
        to target: ParsedURL?,
        _ method: HTTPRequest.Method,
        limit: Int,
        isChanged: Bool = false
    ) -> Step {
        guard count < limit else { return .limitReached }
        if let target {
            let isNew = seen.insert(RedirectTrail.text(target, method)).inserted
            guard isNew || isChanged else { return .loop }
        }
        count += 1
        return .followed
    }

    private static func text(_ url: ParsedURL, _ method: HTTPRequest.Method) -> String { "\(method.rawValue) \(url)" }
}
