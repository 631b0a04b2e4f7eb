//! Linux: inotify with a mask of changes only.
//!
//! Called directly, because the `notify` crate also subscribes to every opening of a file (so each
//! read of the vault costs an event) and misses files put into a new folder before it is watched.
//! Here every new folder is listed after its watch is set.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::FsEvent;
use crate::locks::lock;
use crate::note::path::VaultPath;
use crate::vault::dir::Kind;
use crate::vault::protect::is_hidden_name;
use crate::vault::root::Root;

// MODIFY as well as CLOSE_WRITE: a program may keep a note open for hours.
const MASK: WatchFlags = WatchFlags::CLOSE_WRITE
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);

/// The root's own removal too; for other folders their parent reports it.
const ROOT_MASK: WatchFlags = MASK.union(WatchFlags::DELETE_SELF).union(WatchFlags::MOVE_SELF);

/// How long to wait for the second event of a rename: the kernel queues both at once, but may be
/// preempted between them. A file moved out of the vault has no second event and costs this once.
const PAIR_WAIT: Duration = Duration::from_millis(3);

/// One inotify instance and the folders it watches.
pub(in crate::vault) struct Events {
    fd: OwnedFd,
    folders: Mutex<Folders>,
    limited: Mutex<Option<String>>,
    /// Held while events are read and applied, so that they are applied in order, and once it is
    /// acquired all earlier ones are.
    pub(super) turn: Mutex<()>,
}

#[derive(Default)]
struct Folders {
    by_watch: HashMap<i32, VaultPath>,
    by_path: HashMap<VaultPath, i32>,
}

impl Folders {
    fn insert(&mut self, watch: i32, path: &VaultPath) {
        if self.by_watch.get(&watch) == Some(path) {
            return;
        }
        // A moved folder keeps its watch; its old path is removed.
        if let Some(old) = self.by_watch.insert(watch, path.clone())
            && self.by_path.get(&old) == Some(&watch)
        {
            self.by_path.remove(&old);
        }
        self.by_path.insert(path.clone(), watch);
    }

    fn remove_watch(&mut self, watch: i32) {
        if let Some(path) = self.by_watch.remove(&watch)
            && self.by_path.get(&path) == Some(&watch)
        {
            self.by_path.remove(&path);
        }
    }

    /// Removes and returns the watches of `folder` and of those below it.
    fn take_tree(&mut self, folder: &VaultPath) -> Vec<i32> {
        let tree = self.by_watch.extract_if(|_, path| path.is_within(folder));
        let watches = tree.map(|(watch, _)| watch).collect();
        self.by_path.retain(|path, _| !path.is_within(folder));
        watches
    }
}

/// The first event of a rename, waiting for its MOVED_TO.
struct MovedFrom {
    cookie: u32,
    path: VaultPath,
    /// For a folder, its watches: removed at once, before another folder can take its path.
    watches: Option<Vec<i32>>,
}

impl Events {
    /// Without watches: the walk adds them.
    pub fn start(_root: &Root) -> Result<Self, String> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|error| format!("the system refused a watcher: {error}"))?;
        let (folders, limited, turn) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { fd, folders, limited, turn })
    }

    /// Removes all watches, after another root took the vault's path.
    pub fn reset(&self, _root: &Root) {
        let watches = std::mem::take(&mut *lock(&self.folders)).by_watch;
        for watch in watches.into_keys() {
            let _ = inotify::remove_watch(&self.fd, watch);
        }
    }

    pub fn folders(&self) -> usize {
        lock(&self.folders).by_watch.len()
    }

    /// Why some folders are not watched, if so.
    pub fn limited(&self) -> Option<String> {
        lock(&self.limited).clone()
    }

    /// Watches one folder. A repeated call is needed after a move, since the watch moves with the
    /// folder.
    pub fn watch(&self, root: &Root, folder: &VaultPath) {
        let mask = if folder.is_root() { ROOT_MASK } else { MASK };
        match inotify::add_watch(&self.fd, root.place_of(folder), mask) {
            Ok(watch) => lock(&self.folders).insert(watch, folder),
            Err(Errno::NOSPC) => {
                let reason = "the system's limit of watched folders is reached; raise \
                              fs.inotify.max_user_watches";
                *lock(&self.limited) = Some(reason.to_owned());
            }
            // It was removed or replaced: its parent reports that.
            Err(_) => {}
        }
    }

    /// Watches a new folder and all below it; lists each after watching it.
    fn watch_tree(&self, root: &Root, folder: &VaultPath) {
        self.watch(root, folder);
        let listed = root.folder().open_folder_at(folder).and_then(|folder| folder.list());
        for one in listed.unwrap_or_default() {
            let name = one.name.to_str().filter(|name| !is_hidden_name(name));
            if let Some(path) = name.and_then(|name| folder.join(name))
                && one.meta.kind == Kind::Folder
            {
                self.watch_tree(root, &path);
            }
        }
    }

    /// Whether no event is queued.
    pub fn is_empty(&self) -> bool {
        rustix::io::ioctl_fionread(&self.fd).is_ok_and(|bytes| bytes == 0)
    }

    /// Waits until an event is queued, at most `limit`.
    fn ready_within(&self, limit: Duration) -> bool {
        let limit = Timespec::try_from(limit).ok();
        let ready = poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], limit.as_ref());
        ready.is_ok_and(|ready| ready > 0)
    }

    /// The queued events. Watches new folders.
    pub fn drain(&self, root: &Root) -> Vec<FsEvent> {
        let mut events = Vec::new();
        let mut moved_from: Option<MovedFrom> = None;
        let mut awaited = None;
        let mut buffer = vec![MaybeUninit::<u8>::uninit(); 32 << 10];
        let mut reader = inotify::Reader::new(self.fd.as_fd(), &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                // The queue may end between the two events of a rename.
                Err(_) => match moved_from.as_ref().map(|moved| moved.cookie) {
                    Some(cookie) if awaited != Some(cookie) && self.ready_within(PAIR_WAIT) => {
                        awaited = Some(cookie);
                        continue;
                    }
                    _ => break,
                },
            };
            let (flags, watch, cookie) = (event.events(), event.wd(), event.cookie());
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                events.push(FsEvent::Lost);
                continue;
            }
            if flags.contains(ReadFlags::IGNORED) {
                lock(&self.folders).remove_watch(watch);
                continue;
            }
            let Some(folder) = lock(&self.folders).by_watch.get(&watch).cloned() else { continue };
            if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT)
            {
                events.push(FsEvent::Lost);
                continue;
            }
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            let Some(name) = name else { continue };
            let hidden = is_hidden_name(&name);
            let Some(path) = folder.join(&name) else { continue };
            let is_folder = flags.contains(ReadFlags::ISDIR);
            if flags.contains(ReadFlags::MOVED_FROM) {
                // The two events of a rename within the vault are adjacent.
                if let Some(moved) = moved_from.take() {
                    events.push(self.moved_out(root, moved));
                }
                if !hidden {
                    let watches = is_folder.then(|| lock(&self.folders).take_tree(&path));
                    moved_from = Some(MovedFrom { cookie, path, watches });
                }
                continue;
            }
            if flags.contains(ReadFlags::MOVED_TO)
                && let Some(moved) = moved_from.take_if(|moved| moved.cookie == cookie)
            {
                if hidden {
                    events.push(self.moved_out(root, moved));
                    continue;
                }
                if is_folder {
                    self.watch_tree(root, &path);
                    // After an exchange another folder already has the old path.
                    self.watch_tree(root, &moved.path);
                }
                events.push(FsEvent::Renamed(moved.path, path));
                continue;
            }
            if hidden {
                continue;
            }
            if is_folder && flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                self.watch_tree(root, &path);
                events.push(FsEvent::NewFolder(path));
            } else if events.last() != Some(&FsEvent::Changed(path.clone())) {
                events.push(FsEvent::Changed(path));
            }
        }
        if let Some(moved) = moved_from {
            events.push(self.moved_out(root, moved));
        }
        if events.contains(&FsEvent::Lost) {
            // The rescan finds everything, and sets missing watches.
            events = vec![FsEvent::Lost];
        }
        events
    }

    /// A file or folder was moved out of the vault or to a hidden name. Another folder may have its
    /// path by now, and is watched.
    fn moved_out(&self, root: &Root, moved: MovedFrom) -> FsEvent {
        let MovedFrom { path, watches, .. } = moved;
        let Some(watches) = watches else { return FsEvent::Changed(path) };
        self.watch_tree(root, &path);
        for watch in watches {
            // A folder that was moved back still has its watch.
            let is_back = lock(&self.folders).by_watch.contains_key(&watch);
            if !is_back {
                let _ = inotify::remove_watch(&self.fd, watch);
            }
        }
        FsEvent::NewFolder(path)
    }
}

/// Wakes and ends the waiting thread.
pub(in crate::vault) struct Stop {
    wake: Option<OwnedFd>,
    stopped: AtomicBool,
}

impl Stop {
    pub fn new() -> Self {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Self { wake, stopped: AtomicBool::new(false) }
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    pub fn wake(&self) {
        if let Some(wake) = &self.wake {
            let _ = rustix::io::write(wake, &1_u64.to_ne_bytes());
        }
    }

    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }
}

/// Waits for events, a wake-up or the end of `limit`, if there is one.
pub(in crate::vault) fn wait(events: Option<&Events>, stop: &Stop, limit: Option<Duration>) {
    let fds = stop.wake.as_ref().into_iter().chain(events.map(|events| &events.fd));
    let mut polled: Vec<PollFd<'_>> =
        fds.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    let _ = poll(&mut polled, limit.as_ref());
    if let Some(wake) = &stop.wake {
        let _ = rustix::io::read(wake, &mut [0_u8; 8]);
    }
}
