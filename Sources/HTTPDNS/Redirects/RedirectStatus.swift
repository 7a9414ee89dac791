internal import HTTPTypes

/// The redirect statuses, with the method that each leads to (RFC 9110 sections 15.4.2 to 15.4.9).
enum RedirectStatus: Int {
    case movedPermanently = 301
    case found = 302
    case seeOther = 303
    case temporaryRedirect = 307
    case permanentRedirect = 308

    /// Creates nil for every other status: 300 is a choice for people, 304 the result of a condition, 305 and 306 are
    /// deprecated.
    init?(_ status: HTTPResponse.Status) {
        guard (301...308).contains(status.code) else { return nil }
        self.init(rawValue: status.code)
    }

    /// Returns the method of the next request.
    func method(after method: HTTPRequest.Method) -> HTTPRequest.Method {
        switch self {
        case .movedPermanently, .found: method == .post ? .get : method
        case .seeOther: method == .head ? .head : .get
        case .temporaryRedirect, .permanentRedirect: method
        }
    }
}
