/// What a signal from the manager says about units.
enum UnitSignal: Hashable, Sendable {
    /// Something about the unit of that object has changed.
    case changed(path: String)
    /// Something about the unit of that name has changed: a job of it has ended, or it is no longer
    /// loaded.
    case moved(name: String)
    /// A job for the unit of that name was requested: to start it, or to stop it.
    case asked(name: String)
    /// The manager has reloaded everything.
    case reloaded
    /// Nothing that is waited for here.
    case other

    init(_ message: BusMessage) throws(BusError) {
        switch message.member {
        case "PropertiesChanged": self = .changed(path: message.path)
        case "UnitRemoved": self = .moved(name: try message.text())
        case "JobNew", "JobRemoved":
            // The job's number and its object.
            _ = (try message.number32(), try message.text("o"))
            let name = try message.text()
            self = message.member == "JobNew" ? .asked(name: name) : .moved(name: name)
        case "Reloading": self = .reloaded
        default: self = .other
        }
    }
}
